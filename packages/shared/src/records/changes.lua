-- Reads the state of a record and its events after a rev.
--
-- KEYS[1]  <prefix>:record:<job id>
-- KEYS[2]  <prefix>:history:<job id>   its events, oldest first, each '<rev> ...'
-- ARGV[1]  rev of the last event that the reader has, ARGV[2] how many events it takes
-- Returns {state, rev, events}; nil when there is no record.

local after, count = tonumber(ARGV[1]), tonumber(ARGV[2])
-- As in move-effects.lua.
local PLAIN_REVS = 3

local known = redis.call('HMGET', KEYS[1], 'state', 'rev', 'created_at', 'started_at', 'finished_at', 'run_at', 'released_at')
local state, rev, created_at, started_at, finished_at, run_at, released_at = unpack(known)
if not state then return nil end

-- The events of a finished job that was only queued, started and ended are not stored.
local function plain_events()
  local events = { '1 ' .. created_at .. (run_at and ' job.scheduled' or ' job.queued') }
  if run_at and released_at then events[2] = '2 ' .. released_at .. ' job.queued' end
  if started_at then events[2] = '2 ' .. started_at .. ' job.started' end
  events[#events + 1] = rev .. ' ' .. finished_at .. ' job.' .. state
  return events
end

local events = {}
local function take(entries)
  for _, entry in ipairs(entries) do
    if #events < count and tonumber(string.match(entry, '^%d+') or 0) > after then events[#events + 1] = entry end
  end
end

if finished_at and tonumber(rev) <= PLAIN_REVS then
  take(plain_events())
else
  -- Each change has one event, so at most rev - after of them are newer.
  local newer = math.max(0, (tonumber(rev) or 0) - after)
  local from = math.max(0, redis.call('LLEN', KEYS[2]) - newer)
  while #events < count do
    local entries = redis.call('LRANGE', KEYS[2], from, from + count - 1)
    if #entries == 0 then break end
    take(entries)
    from = from + #entries
  end
end
return { state, rev, events }

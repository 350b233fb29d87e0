-- Reads the heads of group queues that have waiting jobs; the worker's intake chooses by them what to claim. One call looks at a bounded
-- number of groups: first at those that are named, then at the next ones of the index, from where the call before ended.
--
-- KEYS[i]   <prefix>:waiting:<model>   the group queues of a model that may have waiting jobs
-- ARGV[1]   <prefix>
-- ARGV[2]   at how many groups to look; all are looked at when there are no more
-- ARGV[3], ARGV[4]   the index to go on in, from 1, and the cursor in it; '1' and '0' at the start
-- ARGV[5]   the index that lacks the first named group, or '0'
-- ARGV[6..] the named groups
-- Returns {index, cursor, 1 if all groups were looked at, then for each group
-- {queue, waiting, score of the head, ms that the head has waited by Redis's clock, its cost in estimated engine ms or -1}};
-- score 0 for a job that was handed back or recovered: those run first.

local prefix, limit = ARGV[1], tonumber(ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

-- The waiting jobs, the id and the score of the head. Jobs in the wait list go first, taken from its right end.
local function head_of(base)
  local prioritized = redis.call('ZCARD', base .. 'prioritized')
  local handed_back = redis.call('LLEN', base .. 'wait')
  if handed_back > 0 then return handed_back + prioritized, redis.call('LINDEX', base .. 'wait', -1), 0 end
  if prioritized == 0 then return 0 end
  local first = redis.call('ZRANGE', base .. 'prioritized', 0, 0, 'WITHSCORES')
  return prioritized, first[1], tonumber(first[2])
end

local heads, seen, looked = {}, {}, 0
local function has_work(queue)
  if seen[queue] ~= nil then return seen[queue] end
  looked = looked + 1
  local base = prefix .. ':' .. queue .. ':'
  local waiting, id, score = head_of(base)
  seen[queue] = waiting > 0
  if waiting > 0 then
    local added = tonumber(redis.call('HGET', base .. id, 'timestamp') or now)
    -- Rounded up, so that no job counts as shorter than it is.
    local cost = math.ceil(tonumber(redis.call('HGET', prefix .. ':record:' .. id, 'cost') or -1))
    heads[#heads + 1] = { queue, waiting, score, math.max(0, now - added), cost }
  end
  return waiting > 0
end

for i = 6, #ARGV do
  if has_work(ARGV[i]) and i == 6 and ARGV[5] ~= '0' then redis.call('SADD', KEYS[tonumber(ARGV[5])], ARGV[i]) end
end

local at, cursor = tonumber(ARGV[3]), ARGV[4]
if at > #KEYS then at, cursor = 1, '0' end
local first_at, first_cursor, rounds = at, cursor, 0
repeat
  -- SSCAN returns a group that is there all the time at least once a round, also while others come and go.
  local page = redis.call('SSCAN', KEYS[at], cursor, 'COUNT', math.max(1, limit - looked))
  for _, queue in ipairs(page[2]) do
    -- Jobs are added before the group is added to the index, so none is on its way.
    if not has_work(queue) then redis.call('SREM', KEYS[at], queue) end
  end
  cursor = page[1]
  if cursor == '0' then at = at + 1 end
  if at > #KEYS then at, rounds = 1, rounds + 1 end
  -- The cursor at the start is not met again when the index has changed its size since.
  local is_whole = (at == first_at and cursor == first_cursor) or rounds == 2
  if is_whole or looked >= limit then return { at, cursor, is_whole and 1 or 0, unpack(heads) } end
until false

-- Removes ended jobs of a tenant, the oldest first, with their events and webhook deliveries, to free memory. It deletes nothing
-- but keys, so it also runs when Redis is full.
--
-- KEYS[1]  <prefix>:jobs:<tenant>   ids of the tenant's jobs, in order of creation, without nodes of workflows
-- KEYS[2]  <prefix>:outbox, KEYS[3] <prefix>:undelivered   webhook events and deliveries that are still needed
-- ARGV[1]  <prefix>, ARGV[2] how many jobs of the list to skip, ARGV[3] how many to look at, ARGV[4] bytes to free
-- ARGV[5]  only jobs that ended at least this long ago, ms
--
-- Returns {removed jobs, freed bytes, looked at and kept, 1 if the list goes on}. A job stays while it runs or waits, while a node
-- of it does, and while a webhook of it is not delivered.

local ENDED = { succeeded = true, failed = true, canceled = true, expired = true }

local prefix = ARGV[1]
local skip, count, wanted = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local time = redis.call('TIME')
local latest = time[1] * 1000 + math.floor(time[2] / 1000) - tonumber(ARGV[5])

local function keys_of(id, hook_events)
  local keys = { prefix .. ':record:' .. id, prefix .. ':history:' .. id }
  if not hook_events then return keys end
  keys[3] = prefix .. ':attempts:' .. id
  for event in string.gmatch(hook_events, '%S+') do keys[#keys + 1] = prefix .. ':delivery:' .. id .. ':' .. event end
  return keys
end

local function is_undelivered(id, hook_events)
  for event in string.gmatch(hook_events or '', '%S+') do
    local entry = id .. ' ' .. event
    if redis.call('ZSCORE', KEYS[2], entry) or redis.call('ZSCORE', KEYS[3], entry) then return true end
  end
  return false
end

-- The keys of a job that may be removed, else nil; also those of its nodes.
local function removable(id, known)
  local state, finished_at, hook_events, graph = unpack(known)
  if not ENDED[state] or (tonumber(finished_at) or latest + 1) > latest then return nil end
  if is_undelivered(id, hook_events) then return nil end
  local keys = keys_of(id, hook_events)
  for node in string.gmatch(graph or '', '"job":"([^"]+)"') do
    local node_state = redis.call('HGET', prefix .. ':record:' .. node, 'state')
    if node_state and not ENDED[node_state] then return nil end
    for _, key in ipairs(keys_of(node)) do keys[#keys + 1] = key end
  end
  return keys
end

local removed, freed, kept = 0, 0, 0
local ids = redis.call('ZRANGE', KEYS[1], skip, skip + count - 1)
for _, id in ipairs(ids) do
  if freed >= wanted then break end
  local known = redis.call('HMGET', prefix .. ':record:' .. id, 'state', 'finished_at', 'hook_events', 'graph')
  if not known[1] then
    -- The record has expired.
    redis.call('ZREM', KEYS[1], id)
  else
    local keys = removable(id, known)
    if keys then
      for _, key in ipairs(keys) do
        freed = freed + (redis.call('MEMORY', 'USAGE', key, 'SAMPLES', 0) or 0)
        redis.call('DEL', key)
      end
      redis.call('ZREM', KEYS[1], id)
      removed = removed + 1
    else
      kept = kept + 1
    end
  end
end
return { removed, freed, kept, #ids == count and 1 or 0 }

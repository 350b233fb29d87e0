-- Removes ended jobs of a tenant, the oldest first, with their events, webhook deliveries and queue entries, to free memory. It
-- deletes before it writes, so it also runs when Redis is full: a script that has made a change is not refused the next one.
--
-- KEYS[1]  <prefix>:jobs:<tenant>   ids of the tenant's jobs, in order of creation, without nodes of workflows
-- KEYS[2]  <prefix>:outbox, KEYS[3] <prefix>:undelivered   webhook events and deliveries that are still needed
-- KEYS[4]  <prefix>:leftovers       gets the removed jobs, whose outputs are in the store
-- KEYS[5]  <prefix>:deferred:<tenant>   deliveries of the tenant that are needed as well
-- ARGV[1]  <prefix>, ARGV[2] how many jobs of the list to skip, ARGV[3] how many to look at, ARGV[4] bytes to free
-- ARGV[5]  only jobs that ended at least this long ago, ms; ARGV[6] the tenant
-- ARGV[7]  their outputs are deleted after this, ms
--
-- Returns {removed jobs, freed bytes, looked at and kept, 1 if the list goes on}. A job stays while it runs or waits, while a node
-- of it does, while a worker has yet to close its queue entry, and while a webhook of it is not delivered.

local ENDED = { succeeded = true, failed = true, canceled = true, expired = true }

-- What BullMQ keeps of a job.
local ENTRY_KEYS = { '', ':lock', ':logs', ':dependencies', ':processed', ':failed', ':unsuccessful' }
local ENTRY_SETS = { 'completed', 'failed', 'prioritized', 'waiting-children' }

local prefix = ARGV[1]
local skip, count, wanted = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local latest = now - tonumber(ARGV[5])

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
    for _, schedule in ipairs({ KEYS[2], KEYS[3], KEYS[5] }) do
      if redis.call('ZSCORE', schedule, entry) then return true end
    end
  end
  return false
end

-- Whether the queue entry of an ended job is claimed, by a worker or the janitor, or was handed back: it is soon closed.
local function is_open(queue, id)
  local base = prefix .. ':' .. queue .. ':'
  if redis.call('EXISTS', base .. id) == 0 then return false end
  for _, set in ipairs(ENTRY_SETS) do
    if redis.call('ZSCORE', base .. set, id) then return false end
  end
  return true
end

local function nodes_of(workflow)
  if not workflow then return {} end
  local read, decoded = pcall(cjson.decode, workflow)
  return read and decoded.nodes or {}
end

-- The parts of a job that may be removed, itself and its nodes: {id, queue, keys} of each. Nil for one that may not be removed.
local function removable(id, known)
  local state, finished_at, hook_events, workflow, queue, batch = unpack(known)
  -- It expires as soon as its batch has collected it.
  if batch then return nil end
  if not ENDED[state] or (tonumber(finished_at) or latest + 1) > latest then return nil end
  if not queue or is_undelivered(id, hook_events) or is_open(queue, id) then return nil end
  local parts = { { id, queue, keys_of(id, hook_events) } }
  for _, node in ipairs(nodes_of(workflow)) do
    local node_state = redis.call('HGET', prefix .. ':record:' .. node.job, 'state')
    if (node_state and not ENDED[node_state]) or is_open(node.queue, node.job) then return nil end
    parts[#parts + 1] = { node.job, node.queue, keys_of(node.job) }
  end
  return parts
end

-- Returns the bytes of its records and deliveries, which are what a tenant is measured by.
local function remove(id, queue, keys)
  local bytes = 0
  for _, key in ipairs(keys) do
    bytes = bytes + (redis.call('MEMORY', 'USAGE', key, 'SAMPLES', 0) or 0)
    redis.call('DEL', key)
  end
  local base = prefix .. ':' .. queue .. ':'
  for _, name in ipairs(ENTRY_KEYS) do redis.call('DEL', base .. id .. name) end
  for _, set in ipairs(ENTRY_SETS) do redis.call('ZREM', base .. set, id) end
  redis.call('ZADD', KEYS[4], now + tonumber(ARGV[7]), ARGV[6] .. ' ' .. id .. ' ' .. queue)
  return bytes
end

local removed, freed, kept = 0, 0, 0
local ids = redis.call('ZRANGE', KEYS[1], skip, skip + count - 1)
for _, id in ipairs(ids) do
  if freed >= wanted then break end
  local known = redis.call('HMGET', prefix .. ':record:' .. id, 'state', 'finished_at', 'hook_events', 'workflow', 'queue', 'batch')
  if not known[1] then
    -- The record has expired.
    redis.call('ZREM', KEYS[1], id)
  else
    local parts = removable(id, known)
    if parts then
      for _, part in ipairs(parts) do freed = freed + remove(unpack(part)) end
      redis.call('ZREM', KEYS[1], id)
      redis.call('ZREM', KEYS[1] .. ':' .. known[1], id)
      redis.call('ZREM', prefix .. ':failed', known[2] .. ' ' .. id)
      removed = removed + 1
    else
      kept = kept + 1
    end
  end
end
return { removed, freed, kept, #ids == count and 1 or 0 }

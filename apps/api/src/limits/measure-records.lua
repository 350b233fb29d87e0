-- Measures what the records of a tenant take in memory: the size of some jobs, drawn at random, stands for all of them.
--
-- KEYS[1]  <prefix>:jobs:<tenant>   ids of the tenant's jobs, without nodes of workflows
-- KEYS[2]  <prefix>:tenants
-- ARGV[1]  <prefix>, ARGV[2] tenant, ARGV[3] how many jobs are drawn
--
-- Returns the bytes, estimated unless all jobs were drawn.

-- An entry of the list of jobs.
local ENTRY_BYTES = 100

local prefix = ARGV[1]
local jobs = redis.call('ZCARD', KEYS[1])
if jobs == 0 then
  redis.call('SREM', KEYS[2], ARGV[2])
  return 0
end

local function size(key) return redis.call('MEMORY', 'USAGE', key, 'SAMPLES', 0) or 0 end

-- The record of a job, its events and its webhook deliveries.
local function job_bytes(id, hook_events)
  local bytes = size(prefix .. ':record:' .. id) + size(prefix .. ':history:' .. id)
  if not hook_events then return bytes end
  bytes = bytes + size(prefix .. ':attempts:' .. id)
  for event in string.gmatch(hook_events, '%S+') do
    bytes = bytes + size(prefix .. ':delivery:' .. id .. ':' .. event)
  end
  return bytes
end

local drawn = redis.call('ZRANDMEMBER', KEYS[1], ARGV[3])
local bytes = 0
for _, id in ipairs(drawn) do
  local known = redis.call('HMGET', prefix .. ':record:' .. id, 'hook_events', 'graph')
  bytes = bytes + job_bytes(id, known[1])
  for node in string.gmatch(known[2] or '', '"job":"([^"]+)"') do bytes = bytes + job_bytes(node) end
end
return math.ceil(jobs * (ENTRY_BYTES + bytes / #drawn))

-- Measures what the records of some tenants take in memory: the size of some jobs, drawn at random, stands for all of a tenant.
--
-- KEYS[1]    <prefix>:tenants
-- KEYS[i+1]  <prefix>:jobs:<tenant>   ids of the jobs of tenant i, without nodes of workflows
-- ARGV[1]    <prefix>, ARGV[2] how many jobs of each tenant are drawn, ARGV[i+2] tenant i
--
-- Returns for each tenant {its jobs, their bytes, estimated unless all jobs were drawn}; 0 bytes when none is drawn.

-- An entry of the list of jobs.
local ENTRY_BYTES = 100

local prefix, draws = ARGV[1], tonumber(ARGV[2])

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

local function measure(jobs_key, tenant)
  local jobs = redis.call('ZCARD', jobs_key)
  if jobs == 0 then redis.call('SREM', KEYS[1], tenant) end
  if jobs == 0 or draws == 0 then return { jobs, 0 } end
  local drawn = redis.call('ZRANDMEMBER', jobs_key, draws)
  local bytes = 0
  for _, id in ipairs(drawn) do
    local known = redis.call('HMGET', prefix .. ':record:' .. id, 'hook_events', 'workflow')
    bytes = bytes + job_bytes(id, known[1])
    for node in string.gmatch(known[2] or '', '"job":"([^"]+)"') do bytes = bytes + job_bytes(node) end
  end
  return { jobs, math.ceil(jobs * (ENTRY_BYTES + bytes / #drawn)) }
end

local measured = {}
for i = 3, #ARGV do measured[i - 2] = measure(KEYS[i - 1], ARGV[i]) end
return measured

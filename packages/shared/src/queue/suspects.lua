-- One slice of the search for lost jobs: reads some live ids, and of each what tells whether its job may be missing from its queue.
-- The caller reads the few suspects again and decides; reading every record here would keep a process busy for minutes.
--
-- KEYS[1]  <prefix>:live   unfinished jobs, by the time of their admission or creation, ms
-- ARGV[1]  cursor of ZSCAN
-- ARGV[2]  about how many ids to read
-- ARGV[3]  ids with a later time are left out: they may still be on their way into their queue
-- ARGV[4]  <prefix>
-- ARGV[5]  the newest schema version that the caller can read
-- Returns {next cursor, ids of suspects}: jobs without a record, workflows, records of a newer version, and records without an
-- unfinished job in their queue, also when one of the two keys cannot be read as a hash, and jobs whose group is not listed.
-- A scheduled job is in no queue yet; it is put back into <prefix>:scheduled-jobs if it is missing there. A parked job is in none, either; it
-- is put there if nothing would release it.

local function fields(...)
  local reply = redis.pcall('HMGET', ...)
  return not reply.err and reply
end

-- Groups that are listed are also looked at from time to time; asked once per group.
local listed = {}
local function is_listed(queue)
  if listed[queue] == nil then listed[queue] = redis.call('ZSCORE', ARGV[4] .. ':group-looks', queue) and true or false end
  return listed[queue]
end

-- Whether what jobs were parked for is over: no pause of the tenant, no running job of the concurrency key.
local function is_free(parked)
  return redis.call('HEXISTS', ARGV[4] .. ':pauses', 'tenant:' .. parked) == 0
    and redis.call('EXISTS', ARGV[4] .. ':concurrent:' .. parked) == 0
end

local slice = redis.call('ZSCAN', KEYS[1], ARGV[1], 'COUNT', ARGV[2])
local suspects = {}
for i = 1, #slice[2], 2 do
  local id = slice[2][i]
  if tonumber(slice[2][i + 1]) <= tonumber(ARGV[3]) then
    local record = fields(ARGV[4] .. ':record:' .. id, 'queue', 'workflow', 'v', 'state', 'run_at', 'parked')
    local is_scheduled = record and record[4] == 'scheduled'
    if is_scheduled then redis.call('ZADD', ARGV[4] .. ':scheduled-jobs', 'NX', record[5], id) end
    if record and record[6] and is_free(record[6]) then redis.call('ZADD', ARGV[4] .. ':scheduled-jobs', 'NX', 0, id) end
    local is_known = record and record[1] and not record[2] and record[3] and tonumber(record[3]) <= tonumber(ARGV[5])
    local job = is_known and not is_scheduled and fields(ARGV[4] .. ':' .. record[1] .. ':' .. id, 'timestamp', 'finishedOn')
    if not is_scheduled and (not job or not job[1] or job[2] or not is_listed(record[1])) then suspects[#suspects + 1] = id end
  end
end
return { slice[1], suspects }

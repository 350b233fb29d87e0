-- Sends a job without a record to a worker; one round trip. The job was admitted before, and its reservation stays until it ends
-- (end.lua), so that it counts among the unfinished jobs of its tenant. When every process dies, the janitor frees the reservation,
-- because no record follows.
--
-- Only while no job waits in the group: nothing is overtaken, and what comes while jobs wait takes its place in line like any other.
--
-- KEYS[1]  <prefix>:<queue>:prioritized, KEYS[2] <prefix>:<queue>:wait   the waiting jobs of the group
-- KEYS[3]  <prefix>:fair:<queue>   fair queueing: the virtual time of each class
-- KEYS[4]  <prefix>:groups, KEYS[5] <prefix>:group-looks
-- KEYS[6]  <prefix>:pauses
-- KEYS[7..]  <prefix>:direct:<worker>   jobs that were sent to each worker and have not ended, by when they no longer count; also
--            the channel on which the worker gets them
-- ARGV[1]  job id, ARGV[2] queue, ARGV[3] class, ARGV[4] start tag
-- ARGV[5]  how many such jobs a worker may have, ARGV[6] ms after which a job no longer counts
-- ARGV[7]  the job, ARGV[8] its model, ARGV[9] its tenant
-- Returns {number of the worker in KEYS[7..] from 1, now}, or nothing: jobs wait, the model or the tenant is paused, or no worker has room or listens.

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local counts, order = {}, {}
for i = 7, #KEYS do
  redis.call('ZREMRANGEBYSCORE', KEYS[i], '-inf', now)
  -- The connection repeats a command whose reply was lost.
  if redis.call('ZSCORE', KEYS[i], ARGV[1]) then return { i - 6, now } end
  counts[i] = redis.call('ZCARD', KEYS[i])
  if counts[i] < tonumber(ARGV[5]) then order[#order + 1] = i end
end
if redis.call('ZCARD', KEYS[1]) > 0 or redis.call('LLEN', KEYS[2]) > 0 or is_paused(KEYS[6], ARGV[8])
  or redis.call('HEXISTS', KEYS[6], 'tenant:' .. ARGV[9]) == 1 then
  return nil
end
table.sort(order, function(a, b)
  if counts[a] == counts[b] then return a < b end
  return counts[a] < counts[b]
end)
for _, i in ipairs(order) do
  if redis.call('PUBLISH', KEYS[i], now .. ' ' .. ARGV[7]) > 0 then
    redis.call('ZADD', KEYS[i], now + tonumber(ARGV[6]), ARGV[1])
    redis.call('PEXPIRE', KEYS[i], ARGV[6])
    -- As for a job with a record (records/transition.lua): the group is listed, so that its keys are removed when it is idle, and the
    -- virtual time of the class advances when the job starts.
    if redis.call('SADD', KEYS[4], ARGV[2]) == 1 then
      redis.call('ZADD', KEYS[5], now, ARGV[2])
      redis.call('PUBLISH', KEYS[4], ARGV[2])
    end
    local virtual_time = tonumber(redis.call('HGET', KEYS[3], ARGV[3]) or 0)
    if tonumber(ARGV[4]) > virtual_time then redis.call('HSET', KEYS[3], ARGV[3], ARGV[4]) end
    return { i - 6, now }
  end
end
return nil

-- Notes a run of a schedule and goes on to the next one, if no other process has, and the schedule was not changed or deleted meanwhile.
--
-- KEYS[1]  <prefix>:schedule:<id>, KEYS[2] <prefix>:schedules-due, KEYS[3] <prefix>:schedule-runs:<id>
-- ARGV[1]  its id, ARGV[2] the time that the caller read as its next one, ARGV[3] the one after it
-- ARGV[4]  the run as JSON; '' for none, ARGV[5] its job; '' for none, ARGV[6] how many runs are kept
-- Returns 1, or 0 when nothing is changed.

if redis.call('HGET', KEYS[1], 'next') ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], 'next', ARGV[3])
if ARGV[5] ~= '' then redis.call('HSET', KEYS[1], 'last_job', ARGV[5]) end
if ARGV[4] ~= '' then
  redis.call('LPUSH', KEYS[3], ARGV[4])
  redis.call('LTRIM', KEYS[3], 0, ARGV[6] - 1)
end
-- XX: a paused schedule is not in it.
redis.call('ZADD', KEYS[2], 'XX', ARGV[3], ARGV[1])
return 1

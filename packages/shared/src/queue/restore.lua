-- Restores the scores of waiting jobs.
--
-- KEYS[1]  the queue's wait list, KEYS[2] its prioritized set, KEYS[3] <prefix>:waiting:<model>; absent for a queue that is no
--          group queue
-- ARGV[1]  the queue; then id, score, id, score, ...
-- A job that is in neither was claimed meanwhile and is left alone.

if KEYS[3] then redis.call('SADD', KEYS[3], ARGV[1]) end
for i = 2, #ARGV, 2 do
  local id, score = ARGV[i], ARGV[i + 1]
  if redis.call('LREM', KEYS[1], 0, id) > 0 then
    redis.call('ZADD', KEYS[2], score, id)
  else
    redis.call('ZADD', KEYS[2], 'XX', score, id)
  end
end

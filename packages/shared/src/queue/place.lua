-- Puts a job that was just added in its place, and tells the workers that look for work that jobs wait in its group.
--
-- KEYS[1]  the queue's prioritized set, KEYS[2] <prefix>:waiting:<model>; absent for a queue that is no group queue
-- ARGV[1]  job id, ARGV[2] its score, ARGV[3] the queue
-- Returns 1 if the score has changed; a job that was claimed meanwhile is not brought back.

if KEYS[2] then redis.call('SADD', KEYS[2], ARGV[3]) end
return redis.call('ZADD', KEYS[1], 'XX', 'CH', ARGV[2], ARGV[1])

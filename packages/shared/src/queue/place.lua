-- Puts a job that was just added in its place, and tells the workers that look for work that jobs wait in its group.
--
-- KEYS[1]  the queue's prioritized set, KEYS[2] its wait list, whose jobs run first,
-- KEYS[3]  <prefix>:waiting:<model>; absent for a queue that is no group queue
-- ARGV[1]  job id, ARGV[2] its score, ARGV[3] the queue
-- Returns {1 if the score has changed, position}: the place in line counted from 1, nil for a job that was claimed meanwhile, which is
-- not brought back.

if KEYS[3] then redis.call('SADD', KEYS[3], ARGV[3]) end
local changed = redis.call('ZADD', KEYS[1], 'XX', 'CH', ARGV[2], ARGV[1])
local rank = redis.call('ZRANK', KEYS[1], ARGV[1])
return { changed, rank and rank + redis.call('LLEN', KEYS[2]) + 1 }

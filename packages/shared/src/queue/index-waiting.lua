-- Adds group queues that have waiting jobs to the index in which workers look for work.
--
-- KEYS[3i-2]  the queue's wait list, KEYS[3i-1] its prioritized set, KEYS[3i] <prefix>:waiting:<model>
-- ARGV[i]     the queue

for i, queue in ipairs(ARGV) do
  if redis.call('EXISTS', KEYS[3 * i - 2], KEYS[3 * i - 1]) > 0 then redis.call('SADD', KEYS[3 * i], queue) end
end

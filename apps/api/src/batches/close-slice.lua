-- Notes that a slice is collected: its answers are in the store. Once, however often it is sent.
--
-- KEYS[1]  <prefix>:batch:<id>; ARGV[1] the number of the slice, ARGV[2] its lines that had no job, ARGV[3] those that succeeded
-- Returns 1, or 0 when it was collected before.

local slice = ARGV[1]
if redis.call('HDEL', KEYS[1], 'at:' .. slice) == 0 then return 0 end
redis.call('HDEL', KEYS[1], 'jobs:' .. slice, 'ended:' .. slice, 'bad:' .. slice)
redis.call('HINCRBY', KEYS[1], 'failed', ARGV[2])
redis.call('HINCRBY', KEYS[1], 'written', ARGV[3])
redis.call('HINCRBY', KEYS[1], 'collected', 1)
return 1

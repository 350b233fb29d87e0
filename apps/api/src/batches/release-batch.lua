-- Lets go of a batch after a turn. When a slice has ended meanwhile (records/move-effects.lua), the batch is due at once.
--
-- KEYS[1]  <prefix>:batch:<id>, KEYS[2] <prefix>:batches-due; ARGV[1] its id, ARGV[2] when it is due otherwise, ms from now

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local wait = redis.call('HDEL', KEYS[1], 'again') == 1 and 0 or tonumber(ARGV[2])
redis.call('HDEL', KEYS[1], 'fed')
redis.call('ZADD', KEYS[2], 'XX', now + wait, ARGV[1])

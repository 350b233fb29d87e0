-- Stores a new batch, unless its tenant has too many that have not ended.
--
-- KEYS[1]  <prefix>:batch:<id>, KEYS[2] <prefix>:batches-due, KEYS[3] <prefix>:batches-of:<tenant>, KEYS[4] <prefix>:batches-open:<tenant>
-- ARGV[1]  its id, ARGV[2] the most that the tenant may have, or '', ARGV[3] how long it may take, ms; then fields and values
-- Returns its creation time, or nil.

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if ARGV[2] ~= '' and redis.call('SCARD', KEYS[4]) >= tonumber(ARGV[2]) then return nil end
redis.call('HSET', KEYS[1], 'id', ARGV[1], 'created_at', now, 'expires_at', now + tonumber(ARGV[3]), unpack(ARGV, 4))
redis.call('ZADD', KEYS[2], now, ARGV[1])
redis.call('ZADD', KEYS[3], 0, ARGV[1])
redis.call('SADD', KEYS[4], ARGV[1])
return now

-- Stores a new delivery, due at once. A second call with the same webhook id changes nothing: the body of the first one stays.
--
-- KEYS[1]  <prefix>:delivery:<job>:<event>
-- KEYS[2]  <prefix>:undelivered; also the channel that announces a delivery that is due at once
-- ARGV[1]  `<job> <event>`
-- ARGV[2]  webhook id; a delivery with another id is of an older event of this kind and is replaced
-- ARGV[3]  how long the record is kept while it is pending, ms
-- ARGV[4]  its fields: name, value, name, value ...
-- Returns its state.

if redis.call('HGET', KEYS[1], 'id') == ARGV[2] then return redis.call('HGET', KEYS[1], 'state') end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'id', ARGV[2], 'state', 'pending', 'tries', 0, 'created_at', now, 'due_at', now,
  unpack(ARGV, 4))
redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.call('ZADD', KEYS[2], now, ARGV[1])
redis.call('PUBLISH', KEYS[2], ARGV[1])
return 'pending'

-- Writes a delivery down, once: who comes later with the same webhook id finds the first one's body.
--
-- KEYS[1]  <prefix>:delivery:<job>:<event>
-- KEYS[2]  <prefix>:undelivered
-- ARGV[1]  `<job> <event>`
-- ARGV[2]  webhook id; another one stands for a newer event of the same kind and takes the place of the old
-- ARGV[3]  how long it is kept while it has no end, ms
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
return 'pending'

-- Takes deliveries that are due, each under a lease. A process that dies keeps nothing from the others: the delivery is due again
-- when its lease ends. What is no longer pending leaves the schedule.
--
-- KEYS[1]  <prefix>:undelivered: `<job> <event>`, scored by when the delivery is due or its lease ends, ms
-- ARGV[1]  <prefix>:delivery:
-- ARGV[2]  the most deliveries to take
-- ARGV[3]  how long the lease lasts, ms
-- ARGV[4]  the lease: a text that no other call uses
-- Returns {now, ms until the next one is due or '', {entry, flat hash}, ...}, the longest due first.

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local reply = { now, '' }
for _, entry in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, ARGV[2])) do
  local key = ARGV[1] .. string.gsub(entry, ' ', ':', 1)
  if redis.call('HGET', key, 'state') == 'pending' then
    redis.call('HSET', key, 'lease', ARGV[4])
    redis.call('ZADD', KEYS[1], now + tonumber(ARGV[3]), entry)
    reply[#reply + 1] = { entry, redis.call('HGETALL', key) }
  else
    redis.call('ZREM', KEYS[1], entry)
  end
end
local first = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
if first[2] then reply[2] = math.max(0, math.ceil(tonumber(first[2]) - now)) end
return reply

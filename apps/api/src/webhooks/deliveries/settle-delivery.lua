-- Stores the result of an attempt and the next state of the delivery.
--
-- KEYS[1]  <prefix>:delivery:<job>:<event>
-- KEYS[2]  <prefix>:attempts:<job>
-- KEYS[3]  <prefix>:undelivered; also the channel that announces a delivery that is due at once
-- ARGV[1]  `<job> <event>`
-- ARGV[2]  webhook id; nothing is stored when the record has another one or was deleted
-- ARGV[3]  the next state
-- ARGV[4]  ms until the next attempt
-- ARGV[5]  how long the record is kept, ms
-- ARGV[6]  the attempt as JSON, or '' when none was made
-- ARGV[7]  attempts kept per job
-- ARGV[8]  the lease of the attempt. If the delivery has another one or has ended, the attempt is only logged. '' when the owner
--          requests redelivery: attempts are counted from zero, and one that runs now loses its lease
-- Returns 'settled', 'stale' or 'replaced'.

if redis.call('HGET', KEYS[1], 'id') ~= ARGV[2] then return 'replaced' end

if ARGV[6] ~= '' then
  redis.call('RPUSH', KEYS[2], ARGV[6])
  redis.call('LTRIM', KEYS[2], -tonumber(ARGV[7]), -1)
  if redis.call('PTTL', KEYS[2]) < tonumber(ARGV[5]) then redis.call('PEXPIRE', KEYS[2], ARGV[5]) end
end
if ARGV[8] == '' then
  redis.call('HSET', KEYS[1], 'tries', 0)
else
  local known = redis.call('HMGET', KEYS[1], 'state', 'lease')
  if known[1] ~= 'pending' or known[2] ~= ARGV[8] then return 'stale' end
end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local due = now + tonumber(ARGV[4])
redis.call('HSET', KEYS[1], 'state', ARGV[3], 'due_at', due)
redis.call('HDEL', KEYS[1], 'lease')
redis.call('PEXPIRE', KEYS[1], ARGV[5])
if ARGV[3] == 'pending' then
  redis.call('ZADD', KEYS[3], due, ARGV[1])
  if ARGV[4] == '0' then redis.call('PUBLISH', KEYS[3], ARGV[1]) end
else
  redis.call('ZREM', KEYS[3], ARGV[1])
end
if ARGV[6] ~= '' then redis.call('HINCRBY', KEYS[1], 'tries', 1) end
return 'settled'

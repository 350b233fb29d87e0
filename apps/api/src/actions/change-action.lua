-- Makes a change of an action, unless another process has changed it since it was read.
--
-- KEYS[1]  <prefix>:job-action:<id>, KEYS[2] <prefix>:job-actions-due, KEYS[3] <prefix>:job-actions-of:<tenant>,
-- KEYS[4]  <prefix>:job-actions-open:<tenant>, KEYS[5] <prefix>:audit
-- ARGV[1]  its id, ARGV[2] the number of its changes when it was read; empty: it is new
-- ARGV[3]  JSON [fields with their new texts, counters with what is added to them]
-- ARGV[4]  how long an ended one is kept, ms
-- ARGV[5]  the entry of the audit log, or empty, ARGV[6] how long that log is kept, ms
-- ARGV[7]  how many actions of the tenant may be unended
-- Returns 1; 0 when it was changed meanwhile; -1 when the tenant has too many.
--
-- access/audit/append-audit.lua is put before this text.

local set, add = unpack(cjson.decode(ARGV[3]))
local is_new = ARGV[2] == ''
if (redis.call('HGET', KEYS[1], 'step') or '') ~= ARGV[2] then return 0 end
if is_new and redis.call('SCARD', KEYS[4]) >= tonumber(ARGV[7]) then return -1 end

redis.call('HINCRBY', KEYS[1], 'step', 1)
for name, value in pairs(set) do redis.call('HSET', KEYS[1], name, value) end
for name, count in pairs(add) do redis.call('HINCRBY', KEYS[1], name, count) end
if ARGV[5] ~= '' then append_audit(KEYS[5], ARGV[6], ARGV[5]) end

if is_new then
  local time = redis.call('TIME')
  redis.call('ZADD', KEYS[2], time[1] * 1000 + math.floor(time[2] / 1000), ARGV[1])
  redis.call('ZADD', KEYS[3], 0, ARGV[1])
  redis.call('SADD', KEYS[4], ARGV[1])
elseif set.ended_at then
  redis.call('ZREM', KEYS[2], ARGV[1])
  redis.call('SREM', KEYS[4], ARGV[1])
  redis.call('PEXPIRE', KEYS[1], ARGV[4])
end
return 1

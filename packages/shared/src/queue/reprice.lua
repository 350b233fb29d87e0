-- The function `reprice`: charges a running job the difference between the cost that it was admitted with and its real one.
--
-- KEYS[1]  <prefix>:record:<id>
-- KEYS[2]  <prefix>:fair:<queue>           the virtual time of each class
-- KEYS[3]  <prefix>:fair:<queue>:<class>   the start tag of each tenant's next job
-- KEYS[4]  <prefix>:budget:<key>           only when ARGV[5] is given
-- ARGV[1]  lease of the attempt, ARGV[2] tenant, ARGV[3] class, ARGV[4] real cost, estimated engine ms
-- ARGV[5]  engine ms of the key's budget per minute, '' for a key without one; ARGV[6] weight of the tenant
-- ARGV[7]  1 when the job has done its work, which is charged whatever the key owes
--
-- Returns {code, ...}:
--   {'ok'}           charged to the budget and to the tenant's share; the record has the real cost, so a later attempt is charged nothing
--   {'stale'}        the job is over, or another attempt has it
--   {'refused', ms}  nothing charged: the other jobs of the key owe this much, which is more than refills in a minute
--
-- budget.lua is put before this text, which is a function that takes KEYS and ARGV (reprice.ts).

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local known = redis.call('HMGET', KEYS[1], 'state', 'lease', 'cost')
if known[1] ~= 'running' or known[2] ~= ARGV[1] then return { 'stale' } end
local before = tonumber(known[3]) or 0
local more = tonumber(ARGV[4]) - before

if ARGV[5] ~= '' then
  local full = tonumber(ARGV[5])
  local used = budget_used(KEYS[4], full, now)
  local owed = used - before - full
  if ARGV[7] ~= '1' and more > 0 and owed > full then return { 'refused', math.ceil(owed) } end
  set_budget(KEYS[4], math.max(0, used + more), full, now)
end

local virtual_time = tonumber(redis.call('HGET', KEYS[2], ARGV[3]) or 0)
local tag = math.max(virtual_time, tonumber(redis.call('ZSCORE', KEYS[3], ARGV[2]) or 0))
redis.call('ZADD', KEYS[3], math.max(virtual_time, tag + more / tonumber(ARGV[6])), ARGV[2])

redis.call('HSET', KEYS[1], 'cost', ARGV[4])
return { 'ok' }

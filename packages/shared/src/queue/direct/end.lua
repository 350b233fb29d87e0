-- Ends a job without a record: frees its reservation, charges what it really cost, and sends the result to the process that holds its
-- request; one round trip.
--
-- KEYS[1]  <prefix>:live:<tenant>, KEYS[2] <prefix>:live, KEYS[3] <prefix>:reserved   as admission wrote them (queue/admit.lua)
-- KEYS[4]  <prefix>:direct:<worker>
-- KEYS[5]  <prefix>:fair:<queue>, KEYS[6] <prefix>:fair:<queue>:<class>   fair queueing
-- KEYS[7]  <prefix>:budget:<key>   only when ARGV[5] is given
-- ARGV[1]  job id, ARGV[2] tenant, ARGV[3] class
-- ARGV[4]  the real cost less the one that it was admitted with, estimated engine ms
-- ARGV[5]  engine ms of the key's budget per minute, '' for a key without one; ARGV[6] weight of the tenant
-- ARGV[7]  <prefix>:ended:<holder>, the channel of the process that holds the request, or ''; ARGV[8] the message
-- ARGV[9]  JSON {tenant, key, model, state, device_ms, prefix, kept}: the use that is counted (records/count-use.lua), or '' for none
-- Returns 1; 0 when the job had ended already: then nothing is charged or sent.
--
-- budget.lua and records/count-use.lua are put before this text when it is loaded.

if redis.call('HDEL', KEYS[3], ARGV[1]) == 0 then return 0 end
redis.call('ZREM', KEYS[1], ARGV[1])
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('ZREM', KEYS[4], ARGV[1])

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local more = tonumber(ARGV[4])
if more ~= 0 then
  if ARGV[5] ~= '' then
    local full = tonumber(ARGV[5])
    set_budget(KEYS[7], math.max(0, budget_used(KEYS[7], full, now) + more), full, now)
  end
  local virtual_time = tonumber(redis.call('HGET', KEYS[5], ARGV[3]) or 0)
  local tag = math.max(virtual_time, tonumber(redis.call('ZSCORE', KEYS[6], ARGV[2]) or 0))
  redis.call('ZADD', KEYS[6], math.max(virtual_time, tag + more / tonumber(ARGV[6])), ARGV[2])
end
if ARGV[9] ~= '' then
  local use = cjson.decode(ARGV[9])
  count_use({ prefix = use.prefix, now = now, kept = use.kept }, use.tenant, use.key, use.model, use.state, use.device_ms)
end
if ARGV[7] ~= '' then redis.call('PUBLISH', ARGV[7], ARGV[8]) end
return 1

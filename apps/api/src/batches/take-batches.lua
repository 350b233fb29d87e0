-- Takes batches that are due and postpones them, as base/take-due.lua does: first one of each tenant, so that a tenant with many batches
-- does not keep those of others waiting.
--
-- KEYS[1]  <prefix>:batches-due; ARGV[1] <prefix>:batch:, ARGV[2] the most to take, ARGV[3] postpone them by this, ms
-- Returns their ids.

local MAX_LOOKED_AT = 1000

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local most = tonumber(ARGV[2])
local taken, others, has = {}, {}, {}
for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, MAX_LOOKED_AT)) do
  if #taken == most then break end
  local tenant = redis.call('HGET', ARGV[1] .. id, 'tenant') or id
  local list = has[tenant] and others or taken
  list[#list + 1] = id
  has[tenant] = true
end
for _, id in ipairs(others) do
  if #taken == most then break end
  taken[#taken + 1] = id
end
for _, id in ipairs(taken) do redis.call('ZADD', KEYS[1], now + tonumber(ARGV[3]), id) end
return taken

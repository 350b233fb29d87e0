-- Takes deliveries that are due, each under a lease. A process that dies keeps nothing from the others: the delivery is due again
-- when its lease ends. What is no longer pending leaves the schedule. Due deliveries above the share of their tenant in this
-- process leave it too: they wait in a set of their tenant, so that no later call reads them again while the tenant has no room.
--
-- KEYS[1]  <prefix>:undelivered: `<job> <event>`, scored by when the delivery is due or its lease ends, ms
-- KEYS[2]  <prefix>:deferred: tenants with deliveries above their share, scored by when a call last looked at them, ms
-- ARGV[1]  <prefix>:delivery:
-- ARGV[2]  <prefix>:deferred:   of each tenant: `<job> <event>`, scored by when the delivery was due, ms
-- ARGV[3]  the most deliveries to take
-- ARGV[4]  how long the lease lasts, ms
-- ARGV[5]  the lease: a text that no other call uses
-- ARGV[6]  the most deliveries of one tenant that this process handles at once
-- ARGV[7]  `tenant, deliveries, tenant, deliveries ...`: what it handles now
-- Returns {now, ms until the next one is due or '', {entry, flat hash}, ...}.

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local reply = { now, '' }
local count, share = tonumber(ARGV[3]), tonumber(ARGV[6])
-- Reading an entry only to defer it is cheap.
local MAX_READ = 100
local MAX_TENANTS = 16

local handled = {}
for i = 7, #ARGV, 2 do handled[ARGV[i]] = tonumber(ARGV[i + 1]) end
local function has_room(tenant) return (handled[tenant] or 0) < share end
local taken = 0

local function take(entry, key, tenant)
  handled[tenant] = (handled[tenant] or 0) + 1
  taken = taken + 1
  redis.call('HSET', key, 'lease', ARGV[5])
  redis.call('ZADD', KEYS[1], now + tonumber(ARGV[4]), entry)
  reply[#reply + 1] = { entry, redis.call('HGETALL', key) }
end

local function key_of(entry) return ARGV[1] .. string.gsub(entry, ' ', ':', 1) end

-- Deliveries that an earlier call deferred, of tenants that have room now.
local function take_deferred(most)
  for _, tenant in ipairs(redis.call('ZRANGE', KEYS[2], 0, MAX_TENANTS - 1)) do
    if taken >= most then return end
    local set = ARGV[2] .. tenant
    local room = math.min(most - taken, share - (handled[tenant] or 0))
    if room > 0 then
      for _, entry in ipairs(redis.call('ZRANGE', set, 0, room - 1)) do
        redis.call('ZREM', set, entry)
        local key = key_of(entry)
        -- One that its owner restarted meanwhile is in the schedule again.
        if redis.call('HGET', key, 'state') == 'pending' and not redis.call('ZSCORE', KEYS[1], entry) then
          take(entry, key, tenant)
        end
      end
    end
    if redis.call('EXISTS', set) == 0 then
      redis.call('ZREM', KEYS[2], tenant)
    else
      redis.call('ZADD', KEYS[2], now, tenant)
    end
  end
end

-- Half of the places, so that neither these nor the others wait for all of the rest.
take_deferred(math.ceil(count / 2))
for _, entry in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, MAX_READ)) do
  if taken >= count then break end
  local key = key_of(entry)
  local known = redis.call('HMGET', key, 'state', 'tenant')
  local tenant = known[2] or ''
  if known[1] ~= 'pending' then
    redis.call('ZREM', KEYS[1], entry)
  elseif has_room(tenant) then
    take(entry, key, tenant)
  else
    local due = redis.call('ZSCORE', KEYS[1], entry)
    redis.call('ZREM', KEYS[1], entry)
    redis.call('ZADD', ARGV[2] .. tenant, due, entry)
    redis.call('ZADD', KEYS[2], 'NX', now, tenant)
  end
end
take_deferred(count)

local first = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
if first[2] then reply[2] = math.max(0, math.ceil(tonumber(first[2]) - now)) end
-- More of the deferred ones may fit.
if taken >= count then reply[2] = 0 end
return reply

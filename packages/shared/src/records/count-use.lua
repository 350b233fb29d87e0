-- The function `count_use`: counts an ended job in the use of its tenant on the day (UTC) on which it ended. Scripts that end jobs call it
-- in the same step, so that no crash comes between: each job is counted once. GET /v1/usage reads it (apps/api/src/operations/usage.ts).
--
-- <prefix>:usage:<day>             tenants with use on that day, which is counted from 1 January 1970: a set
-- <prefix>:usage:<day>:<tenant>    a hash by `<key id> <name@version> <what>`: how many of its jobs succeeded (s), failed (f), were canceled
--                                  (c) and expired (e), and the microseconds of device time of all of them (us)
--
-- of: {prefix, now, kept}: ms (Unix), and for how many ms the day is kept.

local DAY_MS = 24 * 3600000
-- A tenant has few keys and models. What it has beyond this many counters on a day is counted as one pair of key and model.
local MAX_COUNTERS, REST = 2000, '- - '
local LETTER = { succeeded = 's', failed = 'f', canceled = 'c', expired = 'e' }

local function count_use(of, tenant, key, model, state, device_ms)
  local day = of.prefix .. ':usage:' .. math.floor(of.now / DAY_MS)
  local uses, pair, letter = day .. ':' .. tenant, key .. ' ' .. model .. ' ', LETTER[state]
  if redis.call('HINCRBY', uses, pair .. letter, 1) == 1 then
    local counters = redis.call('HLEN', uses)
    if counters == 1 then
      redis.call('PEXPIRE', uses, of.kept)
      redis.call('SADD', day, tenant)
      redis.call('PEXPIRE', day, of.kept)
    elseif counters > MAX_COUNTERS and pair ~= REST then
      redis.call('HDEL', uses, pair .. letter)
      pair = REST
      redis.call('HINCRBY', uses, pair .. letter, 1)
    end
  end
  local us = math.floor(device_ms * 1000 + 0.5)
  if us > 0 then redis.call('HINCRBY', uses, pair .. 'us', string.format('%.0f', us)) end
end

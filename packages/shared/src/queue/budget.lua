-- The budget of a key, a token bucket. This text is put before the scripts that use it.
--
-- A bucket refills steadily and can go into debt: a job that costs more than a full bucket is paid off over time.

local BUDGET_WINDOW_MS = 60000

-- Points of the budget in use now; `full` points refill in a window. After a step back of the clock, from now on.
local function budget_used(key, full, now)
  local known = redis.call('HMGET', key, 'used', 'at')
  local at = tonumber(known[2]) or now
  if at > now then
    at = now
    redis.call('HSET', key, 'at', at)
  end
  return math.max(0, (tonumber(known[1]) or 0) - (now - at) * full / BUDGET_WINDOW_MS)
end

-- Returns the ms until the bucket is full again.
local function set_budget(key, used, full, now)
  local ms = math.ceil(used * BUDGET_WINDOW_MS / full)
  redis.call('HSET', key, 'used', used, 'at', now)
  redis.call('PEXPIRE', key, ms + 1000)
  return ms
end

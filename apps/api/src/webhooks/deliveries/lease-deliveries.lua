-- Moves the time at which leased deliveries are due again: renews their leases, or ends them. A lease that was lost is left alone.
--
-- KEYS[1]  <prefix>:undelivered
-- ARGV[1]  <prefix>:delivery:
-- ARGV[2]  due again after this, ms
-- ARGV[3]  '1' when the leases end
-- ARGV[4]  `<job> <event>`, lease, `<job> <event>`, lease ...

local time = redis.call('TIME')
local due = time[1] * 1000 + math.floor(time[2] / 1000) + tonumber(ARGV[2])
for i = 4, #ARGV, 2 do
  local key = ARGV[1] .. string.gsub(ARGV[i], ' ', ':', 1)
  if redis.call('HGET', key, 'lease') == ARGV[i + 1] then
    redis.call('ZADD', KEYS[1], due, ARGV[i])
    if ARGV[3] == '1' then
      redis.call('HDEL', key, 'lease')
      if ARGV[2] == '0' then redis.call('PUBLISH', KEYS[1], ARGV[i]) end
    end
  end
end

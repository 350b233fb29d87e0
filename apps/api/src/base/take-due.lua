-- Takes entries that are due and postpones them, so that no other process takes them meanwhile. An entry of a process that dies
-- is due again after that time.
--
-- KEYS[1]  a sorted set, scored by the due time (ms)
-- ARGV[1]  the most entries to take
-- ARGV[2]  postpone them by this, ms
-- Returns the entries, the longest due first.

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, ARGV[1])
for _, entry in ipairs(due) do
  redis.call('ZADD', KEYS[1], now + tonumber(ARGV[2]), entry)
end
return due

-- Takes entries whose time has come and puts them off, so that nobody else takes them meanwhile. Whoever dies with an entry in
-- hand leaves it to the next one.
--
-- KEYS[1]  a sorted set, scored by when somebody should look (ms)
-- ARGV[1]  take what has been due for so long, ms
-- ARGV[2]  at most so many
-- ARGV[3]  put off for so long, ms
-- Returns the entries, the longest due first.

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now - tonumber(ARGV[1]), 'LIMIT', 0, ARGV[2])
for _, entry in ipairs(due) do
  redis.call('ZADD', KEYS[1], now + tonumber(ARGV[3]), entry)
end
return due

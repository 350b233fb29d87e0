-- Reads the head of each group queue; the worker's intake chooses by it what to claim.
--
-- KEYS[2i-1]  the queue's wait list (jobs handed back or recovered; they run first, taken from the right end)
-- KEYS[2i]    its prioritized set, scored class * 2^51 + virtual ms
-- ARGV[i]     <prefix>:<queue>:  so that ARGV[i] .. id is the job's hash
-- Returns per queue {waiting, score of the head, ms that the head has waited by Redis's clock}; score 0 for the wait
-- list, and {0, 0, 0} for an empty queue.

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local heads = {}
for i, job_prefix in ipairs(ARGV) do
  local wait, prioritized = KEYS[2 * i - 1], KEYS[2 * i]
  local front = redis.call('LINDEX', wait, -1)
  local id, score = front, 0
  if not front then
    local first = redis.call('ZRANGE', prioritized, 0, 0, 'WITHSCORES')
    id, score = first[1], first[2] and tonumber(first[2]) or 0
  end
  if id then
    local waiting = redis.call('LLEN', wait) + redis.call('ZCARD', prioritized)
    local added = tonumber(redis.call('HGET', job_prefix .. id, 'timestamp') or now)
    heads[i] = { waiting, score, math.max(0, now - added) }
  else
    heads[i] = { 0, 0, 0 }
  end
end
return heads

-- Reads the heads of the group queues that have waiting jobs; the worker's intake chooses by them what to claim.
--
-- KEYS[i]   <prefix>:waiting:<model>   the group queues of a model that may have waiting jobs
-- ARGV[1]   <prefix>; ARGV[2] and ARGV[3], if given: add this queue to KEYS[ARGV[2]] first
-- Returns per queue {queue, waiting, score of the head, ms that the head has waited by Redis's clock}; score 0 for a job that was
-- handed back or recovered: those run first.

local prefix = ARGV[1]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

-- The waiting jobs, the id and the score of the head. Jobs in the wait list go first, taken from its right end.
local function head_of(base)
  local prioritized = redis.call('ZCARD', base .. 'prioritized')
  local handed_back = redis.call('LLEN', base .. 'wait')
  if handed_back > 0 then return handed_back + prioritized, redis.call('LINDEX', base .. 'wait', -1), 0 end
  if prioritized == 0 then return 0 end
  local first = redis.call('ZRANGE', base .. 'prioritized', 0, 0, 'WITHSCORES')
  return prioritized, first[1], tonumber(first[2])
end

if ARGV[2] then redis.call('SADD', KEYS[tonumber(ARGV[2])], ARGV[3]) end
local heads = {}
for _, index in ipairs(KEYS) do
  for _, queue in ipairs(redis.call('SMEMBERS', index)) do
    local base = prefix .. ':' .. queue .. ':'
    local waiting, id, score = head_of(base)
    if waiting == 0 then
      -- Jobs are added before the group is added to the index, so none is on its way.
      redis.call('SREM', index, queue)
    else
      local added = tonumber(redis.call('HGET', base .. id, 'timestamp') or now)
      heads[#heads + 1] = { queue, waiting, score, math.max(0, now - added) }
    end
  end
end
return heads

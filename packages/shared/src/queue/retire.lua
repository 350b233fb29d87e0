-- Retires a group queue that has been idle for a while: removes all its keys and takes it from the lists. One script decides
-- and removes, so a job is admitted either before, and the group stays, or after, and its first job lists the group again.
--
-- KEYS[1]  <prefix>:groups, KEYS[2] <prefix>:group-looks, KEYS[3] <prefix>:waiting:<model>
-- ARGV[1]  <prefix>, ARGV[2] the queue, ARGV[3] how long it must have been idle, ms
-- ARGV[4]  most finished BullMQ jobs that are removed by one call; ARGV[5] the channel of retired groups
-- Returns 'retired', 'used' (looked at again later), or 'more' (call again: finished jobs are left)

local prefix, queue, idle_ms = ARGV[1], ARGV[2], tonumber(ARGV[3])
local base = prefix .. ':' .. queue .. ':'
local fair = prefix .. ':fair:' .. queue
local CLASSES = { 'interactive', 'standard', 'bulk' }
local LOOKS_PER_IDLE_TIME = 4
local BULLMQ_KEYS = {
  'wait', 'paused', 'active', 'prioritized', 'delayed', 'waiting-children', 'completed', 'failed', 'stalled', 'stalled-check',
  'id', 'meta', 'events', 'pc', 'marker', 'limiter', 'repeat', 'de',
}

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local jobs = redis.call('LLEN', base .. 'wait') + redis.call('LLEN', base .. 'active') + redis.call('LLEN', base .. 'paused')
for _, set in ipairs({ 'prioritized', 'delayed', 'waiting-children' }) do
  jobs = jobs + redis.call('ZCARD', base .. set)
end

-- The last admission (admit.lua), or the last look that found a job. A group without either is idle from this look on.
local used = 0
local times = redis.call('HMGET', fair, ' :used', 'interactive :last', 'standard :last', 'bulk :last')
for i = 1, 4 do used = math.max(used, tonumber(times[i] or 0)) end
if jobs > 0 or used == 0 then
  used = now
  redis.call('HSET', fair, ' :used', now)
end
if now - used < idle_ms then
  local next_look = math.min(used + idle_ms, now + math.ceil(idle_ms / (jobs > 0 and LOOKS_PER_IDLE_TIME or 1)))
  redis.call('ZADD', KEYS[2], next_look, queue)
  return 'used'
end

-- In pieces, so that a group with thousands of finished jobs does not block Redis. What is left between them is harmless.
for _, set in ipairs({ 'completed', 'failed' }) do
  local finished = redis.call('ZRANGE', base .. set, 0, ARGV[4] - 1)
  for _, id in ipairs(finished) do redis.call('DEL', base .. id, base .. id .. ':lock') end
  if #finished > 0 then redis.call('ZREMRANGEBYRANK', base .. set, 0, #finished - 1) end
  if #finished == tonumber(ARGV[4]) then return 'more' end
end
for _, name in ipairs(BULLMQ_KEYS) do redis.call('DEL', base .. name) end
for _, class in ipairs(CLASSES) do redis.call('DEL', fair .. ':' .. class) end
redis.call('DEL', fair, prefix .. ':load:' .. queue)
redis.call('SREM', KEYS[1], queue)
redis.call('ZREM', KEYS[2], queue)
redis.call('SREM', KEYS[3], queue)
redis.call('PUBLISH', ARGV[5], queue)
return 'retired'

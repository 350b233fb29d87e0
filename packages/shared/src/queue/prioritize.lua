-- Gives a waiting job another priority: the place in line that a new job of that priority would get now, its load, and its record, in one step.
-- A job without a place, which is scheduled or parked, gets one of its new priority when it is released.
--
-- These texts are put before this one when it is loaded (prioritizer.ts): the function `apply` (records/transition.lua, which describes KEYS[1],
-- ARGV[1] and ARGV[3]) and the functions of admit.lua.
--
-- ARGV[2]  JSON [the job as admit.lua takes it, with the new priority; the new priority; BullMQ's number for it]
--
-- Returns 'ok'; 'same' when the job has this priority; 'stale' when it does not wait any more.

-- As in accept.lua.
redis.call('SET', prefix .. ':none', '', 'XX')

local job, priority, bull_priority = unpack(cjson.decode(ARGV[2]))
local key = prefix .. ':record:' .. job.id
local known = read_fields(key)
if not known or (known.state ~= 'queued' and known.state ~= 'scheduled') or faulty_field(known) then return 'stale' end
if known.priority == priority then return 'same' end

local written = { 'priority', priority }
if known.state == 'queued' and not known.parked then
  local base = prefix .. ':' .. job.queue .. ':'
  -- A worker has claimed it, or it was handed back and is next.
  if not redis.call('ZSCORE', base .. 'prioritized', job.id) then return 'stale' end
  local class = string.match(job.classes, '^%S+')
  local start, score, _, virtual_time, last_at = fair_place(prefix, job, job.queue, job.cost)
  start, score = take_place(prefix, job, class, start, score, virtual_time, last_at, now)
  redis.call('ZADD', base .. 'prioritized', 'XX', score, job.id)
  redis.call('HSET', base .. job.id, 'priority', bull_priority)
  shift_load(known.queue, known.priority, known.tenant, known.model, known.cost, -1)
  shift_load(known.queue, priority, known.tenant, known.model, known.cost, 1)
  append(written, 'score', score, 'fair_tag', string.format('%.17g', start))
end
redis.call('HSET', key, unpack(written))
redis.call('PUBLISH', prefix .. ':changed:' .. job.id, known.rev)
return 'ok'

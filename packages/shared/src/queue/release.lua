-- Puts a scheduled or parked job into its queue: its fair place as of now, its record and its BullMQ job in one step, so that no crash comes
-- between.
--
-- These texts are put before this one when it is loaded (releaser.ts): the function `apply` (records/transition.lua, which describes KEYS[1],
-- ARGV[1] and ARGV[3]); the functions of admit.lua; KEPT; BullMQ's script that adds a job with a priority as the function `bull_add`, and
-- place.lua as `place`.
--
-- KEYS[2]  <prefix>:waiting:<model>; absent for a queue that is no group queue
-- ARGV[2]  JSON [the job as admit.lua takes it, {priority, data, type} of BullMQ's job]; a workflow has no BullMQ job that waits, and no second part
--
-- Returns the code of the move. 'stale': the job is neither scheduled nor parked any more. It may have expired instead, which is 'overtaken'.

-- As in accept.lua.
redis.call('SET', prefix .. ':none', '', 'XX')

local job, entry = unpack(cjson.decode(ARGV[2]))
local state, parked = unpack(redis.call('HMGET', prefix .. ':record:' .. job.id, 'state', 'parked'))
if state ~= 'scheduled' and not parked then
  redis.call('ZREM', prefix .. ':scheduled-jobs', job.id)
  return 'stale'
end
local fields, score = nil, nil
if entry then
  local class = string.match(job.classes, '^%S+')
  -- A parked job has paid with its first place: it gets the next one of its tenant's parked jobs, which take turns with all others.
  if parked then job.tenant = job.tenant .. ' parked' end
  local start, first, _, virtual_time, last_at = fair_place(prefix, job, job.queue, job.cost)
  start, score = take_place(prefix, job, class, start, first, virtual_time, last_at, now)
  fields = { score = score, fair_tag = string.format('%.17g', start) }
end
local code = apply({ move = 'release', id = job.id, fields = fields })[1]
if code ~= 'ok' or not entry then return code end

local base = prefix .. ':' .. job.queue .. ':'
if redis.call('EXISTS', base .. job.id) == 1 then
  -- A parked job has kept its BullMQ job. The time is that from which a worker measures its wait.
  redis.call('HSET', base .. job.id, 'timestamp', now)
  redis.call('ZADD', base .. 'prioritized', score, job.id)
  if redis.call('HEXISTS', base .. 'meta', 'paused') == 0 then redis.call('ZADD', base .. 'marker', 0, '0') end
else
  local options = { jobId = job.id, priority = entry.priority, removeOnComplete = KEPT, removeOnFail = KEPT }
  bull_add(
    { base .. 'marker', base .. 'meta', base .. 'id', base .. 'prioritized', base .. 'delayed', base .. 'completed', base .. 'active',
      base .. 'events', base .. 'pc' },
    { cmsgpack.pack({ base, job.id, entry.type, now }), entry.data, cmsgpack.pack(options) }
  )
end
place({ base .. 'prioritized', base .. 'wait', KEYS[2] }, { job.id, score, job.queue })
return code

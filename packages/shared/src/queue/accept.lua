-- Admits jobs, writes their records and puts them into their queues, in one round trip and each whole: no crash leaves a job between these steps.
--
-- These texts are put before this one when it is loaded (acceptance.ts): the function `store` (records/planned.lua, move-effects.lua and
-- create.lua); the function `admit` (fair-wait.lua, budget.lua and admit.lua); BullMQ's script that adds a job with a priority as the
-- function `bull_add`, and place.lua as `place`. These two take KEYS and ARGV. KEPT says how long BullMQ keeps a finished job.
--
-- KEYS[1]  <prefix>:live
-- ARGV[1]  <prefix>, with which every key begins, as in records/transition.lua
-- ARGV[2]  JSON, a list of jobs, each [id, input, shared?]: the input as the text that is stored, and the rest, absent when it is that of the
--          job before: {job, priority, data, waiting?, deadline_ms?, run_at?, delay_ms?, fields}. The job as admit.lua takes it, without its
--          id; priority and data of BullMQ's job, the data without its id; <prefix>:waiting:<model>, absent for a queue that is no group
--          queue; the deadline, ms after the admission or the time of a later job; that time, or ms after the admission; the other fields of
--          the record without those that the admission decides, each as the text that is stored. It is one text because each argument of a
--          command costs its sender time.
-- ARGV[3]  how long a finished record is kept, ms
--
-- Returns for each job what admit.lua returns. When the job is stored, its creation time and its position in the queue follow. A job that is
-- admitted under another id than its own, that of an earlier request, is not stored here. Each is judged after the ones before it are
-- stored, as if it came alone; an error of one is its own reply.

-- Redis refuses a script for want of memory only until the script has written, and admit.lua may begin with a command that frees memory. This
-- one would need memory, and changes nothing, because this key is never there.
redis.call('SET', prefix .. ':none', '', 'XX')

local function accept(own_id, input, shared)
  local job, fields = shared.job, shared.fields
  job.id = own_id
  local reply = admit(prefix, job, now, true)
  local code, score, start_tag, id, admitted_at = unpack(reply)
  if code ~= 'admitted' or id ~= own_id then return reply end

  -- These are set for each job, so nothing is left of the one before.
  fields.input, fields.admitted_at = input, admitted_at
  -- Every process measures deadlines, and the times of later jobs, by Redis's clock. As in acceptance.ts.
  local from = job.is_later and math.max(admitted_at, shared.run_at or math.floor(admitted_at + shared.delay_ms + 0.5)) or admitted_at
  if shared.deadline_ms then fields.deadline_at = math.floor(from + shared.deadline_ms + 0.5) end
  if job.is_later then
    fields.run_at = from
    shared.is_listed = store(id, fields, shared.is_listed)
    reply[8] = now
    return reply
  end
  fields.score, fields.fair_tag = score, start_tag
  shared.is_listed = store(id, fields, shared.is_listed)

  local base = prefix .. ':' .. job.queue .. ':'
  local options = { jobId = id, priority = shared.priority, removeOnComplete = KEPT, removeOnFail = KEPT }
  bull_add(
    { base .. 'marker', base .. 'meta', base .. 'id', base .. 'prioritized', base .. 'delayed', base .. 'completed', base .. 'active',
      base .. 'events', base .. 'pc' },
    { cmsgpack.pack({ base, id, fields.type, admitted_at }), '{"id":"' .. id .. '",' .. shared.data, cmsgpack.pack(options) }
  )
  local placed = place({ base .. 'prioritized', base .. 'wait', shared.waiting }, { id, score, job.queue })
  reply[8], reply[9] = now, placed[2]
  -- For the next of these jobs: the group counts as used by the tenant, and the index has it.
  if shared.is_listed then job.max_groups, shared.waiting = nil, nil end
  return reply
end

local replies, shared = {}, nil
for i, each in ipairs(cjson.decode(ARGV[2])) do
  shared = each[3] or shared
  local is_done, reply = pcall(accept, each[1], each[2], shared)
  replies[i] = (is_done or type(reply) == 'table') and reply or { err = reply }
end
return replies

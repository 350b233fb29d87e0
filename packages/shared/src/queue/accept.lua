-- Admits jobs, writes their records and puts them into their queues, in one round trip and each whole: no crash leaves a job between these steps.
--
-- These texts are put before this one when it is loaded (acceptance.ts): the function `store` (records/planned.lua, move-effects.lua and
-- create.lua); the function `admit` (fair-wait.lua, budget.lua and admit.lua); BullMQ's script that adds a job with a priority as the
-- function `bull_add`, and place.lua as `place`. These two take KEYS and ARGV. KEPT says how long BullMQ keeps a finished job.
--
-- KEYS[1]  <prefix>:live
-- ARGV[1]  <prefix>, with which every key begins, as in records/transition.lua
-- ARGV[2]  JSON, a list of jobs, each [{id, entry, waiting?, deadline_ms?, run_at?, delay_ms?, fields}, job?]: priority and data of BullMQ's
--          job; <prefix>:waiting:<model>, absent for a queue that is no group queue; the deadline, ms after the admission or the time of a
--          later job; that time, or ms after the admission; the fields of the record without those that the admission decides, each as the
--          text that is stored. Then the job as admit.lua takes it, without its id; absent when it is that of the job before. It is one text
--          because each argument of a command costs its sender time.
-- ARGV[3]  how long a finished record is kept, ms
--
-- Returns for each job what admit.lua returns. When the job is stored, its creation time and its position in the queue follow. A job that is
-- admitted under another id than its own, that of an earlier request, is not stored here. Each is judged after the ones before it are
-- stored, as if it came alone; an error of one is its own reply.

-- Redis refuses a script for want of memory only until the script has written, and admit.lua may begin with a command that frees memory. This
-- one would need memory, and changes nothing, because this key is never there.
redis.call('SET', prefix .. ':none', '', 'XX')

local function accept(job, stored)
  local reply = admit(prefix, job, now, true)
  local code, score, start_tag, id, admitted_at = unpack(reply)
  if code ~= 'admitted' or id ~= job.id then return reply end

  local fields = stored.fields
  fields.admitted_at = admitted_at
  -- Every process measures deadlines, and the times of later jobs, by Redis's clock. As in acceptance.ts.
  local from = job.is_later and math.max(admitted_at, stored.run_at or math.floor(admitted_at + stored.delay_ms + 0.5)) or admitted_at
  if stored.deadline_ms then fields.deadline_at = math.floor(from + stored.deadline_ms + 0.5) end
  if job.is_later then
    fields.run_at = from
    store(id, fields)
    reply[8] = now
    return reply
  end
  fields.score, fields.fair_tag = score, start_tag
  store(id, fields)

  local base = prefix .. ':' .. job.queue .. ':'
  local options = { jobId = id, priority = stored.entry.priority, removeOnComplete = KEPT, removeOnFail = KEPT }
  bull_add(
    { base .. 'marker', base .. 'meta', base .. 'id', base .. 'prioritized', base .. 'delayed', base .. 'completed', base .. 'active',
      base .. 'events', base .. 'pc' },
    { cmsgpack.pack({ base, id, fields.type, admitted_at }), stored.entry.data, cmsgpack.pack(options) }
  )
  local placed = place({ base .. 'prioritized', base .. 'wait', stored.waiting }, { id, score, job.queue })
  reply[8], reply[9] = now, placed[2]
  return reply
end

local replies, job = {}, nil
for i, each in ipairs(cjson.decode(ARGV[2])) do
  job = each[2] or job
  job.id = each[1].id
  local is_done, reply = pcall(accept, job, each[1])
  replies[i] = (is_done or type(reply) == 'table') and reply or { err = reply }
end
return replies

-- What the moves of transition.lua write beside the record: load, virtual time, events, messages, lists. This text is put before that one,
-- which describes KEYS and ARGV.

local prefix = ARGV[1]
-- `use_kept` only for scripts that end jobs.
local retention, use_kept = string.match(ARGV[3], '^(%S+) ?(%S*)$')
retention = tonumber(retention)
local EVENTS_KEPT = 512
-- A job that was queued, perhaps started, and ended has at most this rev; any other change makes it higher.
local PLAIN_REVS = 3
-- A record with a longer output is not sent to the process that holds its request; that process reads it.
local MAX_SENT_OUTPUT = 65536
-- Jobs of a tenant's list that are looked up at random.
local LISTED_PROBED = 4
-- Longer than a batch takes: at most a week, until it has expired.
local BATCH_MS = 8 * 24 * 3600000

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local EVENT = {
  schedule = 'job.scheduled', release = 'job.queued',
  create = 'job.queued', start = 'job.started', begin = 'job.started', progress = 'job.progress', requeue = 'job.queued',
  output = 'job.output',
  succeed = 'job.succeeded', fail = 'job.failed', cancel = 'job.canceled', expire = 'job.expired',
}
local TERMINAL = { succeeded = true, failed = true, canceled = true, expired = true }

-- Adds to (sign 1) or subtracts from (-1) the estimated engine ms that wait in a group, and those of the tenant that wait for a
-- model; admission reads both. A workflow costs nothing, its nodes do.
local function shift_load(queue, priority, tenant, model, cost, sign)
  local ms = sign * tonumber(cost)
  local group = prefix .. ':load:' .. queue
  -- Sums of floats keep a rest, and the load of a job that was lost may have been removed with its retired group.
  if tonumber(redis.call('HINCRBYFLOAT', group, priority, ms)) < 0 then redis.call('HDEL', group, priority) end
  if ms == 0 then return end
  local own = prefix .. ':load-of:' .. tenant
  if tonumber(redis.call('HINCRBYFLOAT', own, model, ms)) <= 0 then redis.call('HDEL', own, model) end
end

-- The concurrency of a job: its key, which is its tenant's own, and how many jobs with it may run at once. Nil for a job without one.
local function concurrency_of(known)
  if not known.concurrency then return nil end
  local is_json, asked = pcall(cjson.decode, known.concurrency)
  if is_json then return known.tenant .. ':' .. asked.key, asked.max end
end

-- Why a waiting job may not start now: its tenant, which is paused, or its concurrency key, of which enough jobs run. Nil when it may.
local function held_by_whom(known)
  if redis.call('HEXISTS', prefix .. ':pauses', 'tenant:' .. known.tenant) == 1 then return known.tenant end
  local key, max = concurrency_of(known)
  if key and redis.call('SCARD', prefix .. ':concurrent:' .. key) >= max then return key end
end

-- Parks a waiting job: it stays queued, but has no place in its queue and no load until queue/release.lua gives it a new place.
local function park(id, known, why)
  if known.parked then
    redis.call('ZREM', prefix .. ':parked:' .. known.parked, id)
  else
    shift_load(known.queue, known.priority, known.tenant, known.model, known.cost, -1)
  end
  redis.call('HSET', prefix .. ':record:' .. id, 'parked', why)
  redis.call('ZADD', prefix .. ':parked:' .. why, now, id)
end

-- Makes the jobs due that were parked for this key first and may run now; an API process releases them. How many these are says the first one.
local function unpark(tenant, key)
  local parked = prefix .. ':parked:' .. key
  local first = redis.call('ZRANGE', parked, 0, 0)[1]
  if not first then return end
  local concurrency = redis.call('HGET', prefix .. ':record:' .. first, 'concurrency')
  local _, max = concurrency_of({ tenant = tenant, concurrency = concurrency })
  local free = (max or 1) - redis.call('SCARD', prefix .. ':concurrent:' .. key)
  if free <= 0 then return end
  for _, id in ipairs(redis.call('ZRANGE', parked, 0, free - 1)) do redis.call('ZADD', prefix .. ':scheduled-jobs', now, id) end
end

-- Keeps load and running jobs, also those of a concurrency key, in agreement with the state.
local function follow_state(id, known, state)
  if known.state == 'scheduled' or known.parked then redis.call('ZREM', prefix .. ':scheduled-jobs', id) end
  if known.parked then redis.call('ZREM', prefix .. ':parked:' .. known.parked, id) end
  local had_load = known.state == 'queued' and not known.parked
  if had_load and state ~= 'queued' then
    shift_load(known.queue, known.priority, known.tenant, known.model, known.cost, -1)
  elseif not had_load and state == 'queued' then
    shift_load(known.queue, known.priority, known.tenant, known.model, known.cost, 1)
  end
  local running, key = prefix .. ':running:' .. known.tenant, concurrency_of(known)
  if state == 'running' then
    redis.call('SADD', running, id)
    if key then redis.call('SADD', prefix .. ':concurrent:' .. key, id) end
  elseif known.state == 'running' then
    redis.call('SREM', running, id)
    if key then
      redis.call('SREM', prefix .. ':concurrent:' .. key, id)
      unpark(known.tenant, key)
    end
  end
end

-- Fair queueing: the virtual time of a class is the start tag of the last job that started (queue/admit.lua assigns the tags).
local function advance_virtual_time(queue, priority, start_tag)
  local fair = prefix .. ':fair:' .. queue
  local virtual_time = tonumber(redis.call('HGET', fair, priority) or 0)
  if start_tag > virtual_time then redis.call('HSET', fair, priority, start_tag) end
end

-- Stores one event per change, numbered by the record's rev. A finished job that was only queued, started and ended needs none:
-- changes.lua knows these events from the record.
local function store_event(id, state, rev, event, data)
  -- A list, because a stream of a few short entries takes 4.8 kB.
  local events = prefix .. ':history:' .. id
  if TERMINAL[state] and rev <= PLAIN_REVS then
    redis.call('DEL', events)
    return
  end
  local kept = redis.call('RPUSH', events, rev .. ' ' .. now .. ' ' .. event .. (data and ' ' .. data or ''))
  if kept > EVENTS_KEPT then redis.call('LTRIM', events, -EVENTS_KEPT, -1) end
  if TERMINAL[state] then redis.call('PEXPIRE', events, retention) end
end

-- Announces a change: an event, a webhook event if one is wanted, and a message to the readers that wait for this job.
local function announce(id, state, rev, event, data, hook_events)
  if hook_events and string.find(' ' .. hook_events .. ' ', ' ' .. event .. ' ', 1, true) then
    -- NX: a repeated event (a second attempt starts) keeps its place, because each event of a job has one webhook id.
    redis.call('ZADD', prefix .. ':outbox', 'NX', now, id .. ' ' .. event)
    redis.call('PUBLISH', prefix .. ':outbox', id)
  end
  store_event(id, state, rev, event, data)
  redis.call('PUBLISH', prefix .. ':changed:' .. id, rev)
end

-- Sends an ended record to the API process that holds the request for it, which then need not read it.
local function send_end(holder, id, key, fields)
  local is_long = #(fields and fields.output or '') > MAX_SENT_OUTPUT
  local record = is_long and '' or cjson.encode(redis.call('HGETALL', key))
  redis.call('PUBLISH', prefix .. ':ended:' .. holder, id .. ' ' .. record)
end

-- Appends the fields of a move to a list of names and values, for one HSET: each command of a script costs as much as its work.
local function append_fields(flat, fields)
  for name, value in pairs(fields or {}) do
    flat[#flat + 1] = name
    flat[#flat + 1] = value
  end
end

local function append(flat, ...)
  for _, each in ipairs({ ... }) do flat[#flat + 1] = each end
end

-- Lists a group queue that gets a job. One that was idle may have been retired (queue/retire.lua).
local function list_group(queue, model)
  if redis.call('SADD', prefix .. ':groups', queue) == 0 then return end
  if is_paused(prefix .. ':pauses', model) then redis.call('HSET', prefix .. ':' .. queue .. ':meta', 'paused', '1') end
  redis.call('ZADD', prefix .. ':group-looks', now, queue)
  redis.call('PUBLISH', prefix .. ':groups', queue)
end

-- What a job needs that waits from now on: workers that look for its group; a workflow is advanced.
local function enter(id, queue, model, workflow)
  if workflow then
    redis.call('ZADD', prefix .. ':workflows', now, id)
  else
    list_group(queue, model)
  end
end

-- Adds a job to a list of its tenant, and removes a few jobs whose records have expired: the oldest ones. Behind an old job that
-- is not finished, others may have expired; then also some at random, so that the list has at most a third more than records. Returns
-- true when none has expired.
local function add_to_list(jobs, id)
  redis.call('ZADD', jobs, 0, id)
  local oldest = redis.call('ZRANGE', jobs, 0, 1)
  -- Of a record that is damaged, nil: an error here would leave half of what the caller writes.
  local created_at = tonumber(redis.pcall('HGET', prefix .. ':record:' .. oldest[1], 'created_at') or '')
  if created_at then
    -- All other records are younger, so none of them has expired.
    if now - created_at <= retention then return true end
    oldest = redis.call('ZRANDMEMBER', jobs, LISTED_PROBED)
  end
  for _, each in ipairs(oldest) do
    if redis.call('EXISTS', prefix .. ':record:' .. each) == 0 then redis.call('ZREM', jobs, each) end
  end
  return false
end

-- `is_listed`: the same script has just listed a job of the tenant, and this has returned true.
local function list_job(id, tenant, is_listed)
  local jobs = prefix .. ':jobs:' .. tenant
  if is_listed then
    redis.call('ZADD', jobs, 0, id)
    return true
  end
  local is_settled = add_to_list(jobs, id)
  redis.call('PERSIST', jobs)
  redis.call('SADD', prefix .. ':tenants', tenant)
  return is_settled
end

-- Lists a job by each of its labels, `metadata` of its record as JSON. The list of a label lasts as long as the records of jobs that had
-- ended when it was last used; a job that waits longer than that is listed again when it ends.
local function list_labels(id, tenant, metadata, has_ended)
  if not metadata or metadata == '' or metadata == '{}' then return end
  local is_json, labels = pcall(cjson.decode, metadata)
  for name, value in pairs(is_json and labels or {}) do
    local jobs = prefix .. ':labelled:' .. tenant .. ':' .. redis.sha1hex(name .. '\0' .. value)
    add_to_list(jobs, id)
    if has_ended then redis.call('PEXPIRE', jobs, retention) else redis.call('PERSIST', jobs) end
  end
end

-- Lists a job by the state in which it ended. Most jobs succeed: these are found in the list of all jobs, so they cost nothing here.
local function list_ended(id, tenant, state)
  if state == 'succeeded' then return end
  local ended = prefix .. ':jobs:' .. tenant .. ':' .. state
  add_to_list(ended, id)
  redis.call('PEXPIRE', ended, retention)
  if state ~= 'failed' then return end
  -- In order of time, because 13 digits are enough until the year 2286.
  local failed = prefix .. ':failed'
  redis.call('ZADD', failed, 0, string.format('%.0f %s', now, id))
  redis.call('ZREMRANGEBYLEX', failed, '-', string.format('(%.0f', now - retention))
  redis.call('PEXPIRE', failed, retention)
end

local function finish(key, id, tenant)
  redis.call('HDEL', key, 'lease', 'progress', 'cancel_requested', 'score', 'fair_tag', 'checkpoint', 'held_by', 'parked')
  redis.call('ZREM', KEYS[1], id)
  redis.call('ZREM', prefix .. ':live:' .. tenant, id)
  -- The list of a tenant without unfinished jobs expires with the last record in it.
  if redis.call('ZCARD', prefix .. ':live:' .. tenant) == 0 then
    redis.call('PEXPIRE', prefix .. ':jobs:' .. tenant, retention)
  end
  redis.call('ZREM', prefix .. ':deadlines', id)
  redis.call('PEXPIRE', key, retention)
  redis.call('DEL', prefix .. ':checkpoints:' .. id)
end

-- Counts an ended job in its batch. The last one of its slice makes the batch due, or tells the process that feeds it at this moment to look
-- again. The record stays until that process has collected it.
local function count_in_batch(key, batch, state)
  local id, slice = string.match(batch, '^(%S+) (%d+)$')
  local counts = prefix .. ':batch:' .. (id or '')
  local known = id and redis.call('HMGET', counts, 'state', 'jobs:' .. slice, 'fed') or {}
  if not known[1] then return end
  redis.call('PEXPIRE', key, math.max(retention, BATCH_MS))
  redis.call('HINCRBY', counts, state == 'succeeded' and 'completed' or 'failed', 1)
  local ended = redis.call('HINCRBY', counts, 'ended:' .. slice, 1)
  if ended < (tonumber(known[2]) or ended + 1) then return end
  if known[3] then
    redis.call('HSET', counts, 'again', 1)
  else
    redis.call('ZADD', prefix .. ':batches-due', 'XX', now, id)
  end
end

-- A workflow is shown with its nodes, so no record of a node that ended early expires before that of the workflow.
local function keep_nodes(workflow)
  for node in string.gmatch(workflow, '"job":"([^"]+)"') do
    local key = prefix .. ':record:' .. node
    if redis.call('PTTL', key) > 0 then redis.call('PEXPIRE', key, retention) end
  end
end

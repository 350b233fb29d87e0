-- The only writer of a job's state: applies a list of moves in one round trip, each move whole or not at all.
--
-- KEYS[1]  <prefix>:live      ids of all unfinished jobs, by creation time
-- ARGV[1]  <prefix>           for example {lehr}; every key below begins with it, so all share one cluster slot
-- ARGV[2]  JSON list of moves {move, id, lease?, fields?, data?, refund?}; data is the data of the move's event, as JSON;
--          and {move = 'reassign', id, from, rollout, weight, fields}, see `reassign`
-- ARGV[3]  how long a finished record is kept, ms
--
-- MOVES is put before this text when it is loaded: per move, the states it may start from and the one it leads to
-- (records/record.ts). So are BUCKETS and PAIRS, by which the device times of a rollout are counted and compared
-- (records/rollout-share.ts).
--
-- With the state it writes everything that must agree with it: the tenant's job list, the sets of live and running jobs, the
-- load of each group queue, and the outbox of webhook events.
--
-- A move of a running attempt names its lease. A move without a lease may change a running record only when its lease is
-- gone (BullMQ's lock key has expired); until then `cancel` becomes a request to the worker, and other moves are stale.
--
-- Returns per move {code, state, rev, attempt, cancel_requested, watched, record}; after a start or progress, `watched`
-- is 1 if a caller follows the job and 2 if one wants previews; `record` is the flat hash after a start.
--   ok         applied
--   same       the same move was applied before (its reply was lost)
--   requested  the worker that runs the job was asked to cancel it
--   ended      the record is finished already
--   overtaken  the job was ended in another way instead: start or requeue found a cancel request or a passed deadline, or the
--              workflow of this node has ended
--   stale      another attempt owns the job now, or a worker's lease on it is still alive
--   exists     create found a record with this id
--   missing    there is no such record
--   unreadable the record lacks what the move needs: it is damaged or of another version. Nothing is changed; in place of the
--              record stands the name of the field

local prefix = ARGV[1]
local retention = tonumber(ARGV[3])
local EVENTS_KEPT = 512
-- The events of an unfinished job are kept at least this long.
local UNENDED_MS = 30 * 24 * 3600000
-- A job that was queued, perhaps started, and ended has at most this rev; any other change makes it higher.
local PLAIN_REVS = 3
-- A record with a longer output is not sent to the process that holds its request; that process reads it.
local MAX_SENT_OUTPUT = 65536
-- Jobs of a tenant's list that are looked up at random.
local LISTED_PROBED = 4

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local EVENT = {
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
  -- A worker of an older version ends the job without a time for this list.
  if kept == 1 then redis.call('PEXPIRE', events, retention + UNENDED_MS) end
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
local function list_group(queue)
  if redis.call('SADD', prefix .. ':groups', queue) == 0 then return end
  redis.call('ZADD', prefix .. ':group-looks', now, queue)
  redis.call('PUBLISH', prefix .. ':groups', queue)
end

-- Adds a job to its tenant's list, and removes a few jobs whose records have expired: the oldest ones. Behind an old job that
-- is not finished, others may have expired; then also some at random, so that the list has at most a third more than records.
local function list_job(id, tenant)
  local jobs = prefix .. ':jobs:' .. tenant
  redis.call('ZADD', jobs, 0, id)
  redis.call('PERSIST', jobs)
  redis.call('SADD', prefix .. ':tenants', tenant)
  local oldest = redis.call('ZRANGE', jobs, 0, 1)
  local created_at = redis.call('HGET', prefix .. ':record:' .. oldest[1], 'created_at')
  if created_at then
    -- All other records are younger, so none of them has expired.
    if now - tonumber(created_at) <= retention then return end
    oldest = redis.call('ZRANDMEMBER', jobs, LISTED_PROBED)
  end
  for _, each in ipairs(oldest) do
    if redis.call('EXISTS', prefix .. ':record:' .. each) == 0 then redis.call('ZREM', jobs, each) end
  end
end

local function create(m)
  local key = prefix .. ':record:' .. m.id
  local known = redis.call('HMGET', key, 'state', 'rev', 'attempt')
  if known[1] then
    -- A repeated create was admitted a second time: release that reservation.
    redis.call('HDEL', prefix .. ':reserved', m.id)
    if TERMINAL[known[1]] then
      redis.call('ZREM', KEYS[1], m.id)
      redis.call('ZREM', prefix .. ':live:' .. m.fields.tenant, m.id)
    end
    return { 'exists', known[1], tonumber(known[2]), tonumber(known[3]), 0 }
  end
  local written = { 'id', m.id, 'state', 'queued', 'rev', 1, 'attempt', 0, 'created_at', now }
  append_fields(written, m.fields)
  redis.call('HSET', key, unpack(written))
  redis.call('HDEL', prefix .. ':reserved', m.id)
  redis.call('ZADD', KEYS[1], now, m.id)
  redis.call('ZADD', prefix .. ':live:' .. m.fields.tenant, now, m.id)
  if not m.fields.parent then list_job(m.id, m.fields.tenant) end
  if m.fields.deadline_at then redis.call('ZADD', prefix .. ':deadlines', m.fields.deadline_at, m.id) end
  -- A workflow that is cancelled at this moment may have been read without this node; the janitor looks again.
  if m.fields.parent then redis.call('ZADD', prefix .. ':graphs', now, m.fields.parent) end
  if m.fields.graph then
    redis.call('ZADD', prefix .. ':graphs', now, m.id)
  else
    list_group(m.fields.queue)
  end
  shift_load(m.fields.queue, m.fields.priority, m.fields.tenant, m.fields.model, m.fields.cost, 1)
  announce(m.id, 'queued', 1, EVENT.create, nil, m.fields.hook_events)
  return { 'ok', 'queued', 1, 0, 0, now }
end

local OUTCOMES_KEPT_MS = 30 * 24 * 3600000

-- Device ms and batch size of a job that succeeded; nil when its worker did not measure it, as workers of older versions do not.
local function device_ms(metrics)
  local ok, parsed = pcall(cjson.decode, metrics or '')
  local ms = ok and type(parsed) == 'table' and tonumber(parsed.device_ms)
  if not ms then return nil end
  return ms, tonumber(parsed.batch_size) or 1
end

-- The class of a number when each class begins at `ratio` times the one before; at most `most`.
local function class_of(number, ratio, most)
  -- A number at the edge of two classes must not fall below it by rounding.
  return math.max(0, math.min(most, math.floor(math.log(math.max(number, 1)) / math.log(ratio) + 1e-9)))
end

-- Compares a job with the last one of the other version that had about its size and its batch size and was not compared yet.
local function compare(key, side, ratio, size, batch)
  local class = 'pair ' .. class_of(size, 2, 32) .. ' ' .. class_of(batch, PAIRS.batch_ratio, 60)
  local other, theirs = string.match(redis.call('HGET', key, class) or '', '^(%a+) (%S+)$')
  if not other or other == side then
    redis.call('HSET', key, class, side .. ' ' .. ratio)
    return
  end
  redis.call('HDEL', key, class)
  local canary, stable = ratio, tonumber(theirs)
  if side == 'stable' then canary, stable = stable, canary end
  canary = canary / PAIRS.tolerance
  redis.call('HINCRBY', key, canary > stable and 'slower' or 'faster', 1)
  if canary > PAIRS.far * stable then redis.call('HINCRBY', key, 'much-slower', 1) end
  if stable > PAIRS.far * canary then redis.call('HINCRBY', key, 'much-faster', 1) end
end

-- Counts the end of a job whose version a rollout chose: by its version, and by its state or the code of its error. A record of an
-- older version names no stage.
local function count_outcome(rollout, state, fields)
  local id, side, expected, stage = string.match(rollout, '^(%S+) (%a+) (%S+) ?(%d*)$')
  local size = tonumber(expected)
  if not size then return end
  local outcome = state
  if state == 'failed' then
    local ok, failure = pcall(cjson.decode, fields and fields.error or '')
    outcome = ok and type(failure) == 'table' and type(failure.code) == 'string' and failure.code or 'internal'
  end
  local key = prefix .. ':rollout-outcomes:' .. id
  local of_stage = stage ~= '' and key .. '.' .. stage
  redis.call('HINCRBY', key, side .. ' ' .. outcome, 1)
  if of_stage then redis.call('HINCRBY', of_stage, side .. ' ' .. outcome, 1) end
  if state == 'succeeded' then
    local ms, batch = device_ms(fields and fields.metrics)
    if ms then
      local ratio = math.max(ms, 0.01) / math.max(size, 0.01)
      local bucket = math.floor(math.log(ratio) / math.log(BUCKETS.ratio))
      bucket = math.max(BUCKETS.first, math.min(BUCKETS.last, bucket))
      redis.call('HINCRBY', key, side .. ' ~' .. bucket, 1)
      if of_stage then compare(of_stage, side, ratio, size, batch) end
    end
  end
  redis.call('PEXPIRE', key, OUTCOMES_KEPT_MS)
  if of_stage then redis.call('PEXPIRE', of_stage, OUTCOMES_KEPT_MS) end
end

local function finish(key, id, tenant)
  redis.call('HDEL', key, 'lease', 'progress', 'cancel_requested', 'score', 'fair_tag', 'checkpoint', 'held_by')
  redis.call('ZREM', KEYS[1], id)
  redis.call('ZREM', prefix .. ':live:' .. tenant, id)
  -- The list of a tenant without unfinished jobs expires with the last record in it.
  if redis.call('ZCARD', prefix .. ':live:' .. tenant) == 0 then
    redis.call('PEXPIRE', prefix .. ':jobs:' .. tenant, retention)
  end
  redis.call('ZREM', prefix .. ':deadlines', id)
  redis.call('PEXPIRE', key, retention)
  -- Older versions stored the events of unfinished jobs in a stream.
  redis.call('DEL', prefix .. ':checkpoints:' .. id, prefix .. ':events:' .. id)
end

-- A workflow is shown with its nodes, so no record of a node that ended early expires before that of the workflow.
local function keep_nodes(graph)
  for node in string.gmatch(graph, '"job":"([^"]+)"') do
    local key = prefix .. ':record:' .. node
    if redis.call('PTTL', key) > 0 then redis.call('PEXPIRE', key, retention) end
  end
end

-- An ended workflow never changes, and its result is that of its nodes. So a node that has not ended by then is cancelled, whatever
-- its worker reports.
local function is_over(workflow)
  return workflow and TERMINAL[redis.call('HGET', prefix .. ':record:' .. workflow, 'state') or ''] or false
end

-- The first field of a record that a move would fail on, by its place in the list that `apply` reads.
local function faulty_field(known)
  if not tonumber(known[2]) then return 'rev' end
  if not tonumber(known[3]) then return 'attempt' end
  if not known[6] then return 'tenant' end
  if not known[7] then return 'queue' end
  if known[9] and not tonumber(known[9]) then return 'deadline_at' end
  if not known[10] then return 'priority' end
  if not tonumber(known[11]) then return 'cost' end
  if known[13] and not tonumber(known[13]) then return 'fair_tag' end
end

-- Moves a waiting job from the group queue `m.from` to that of another version of its model, `m.fields.queue`, if `m.rollout` chose its
-- version. It keeps its place relative to the jobs that are moved with it. BullMQ's job is removed here, so no worker of the other
-- version can claim it any more; the caller adds it to the new queue, or else the reconciler does. A job that is claimed is left alone.
local function reassign(m, key, known)
  local state, rev, attempt = known[1], tonumber(known[2]), tonumber(known[3])
  local from, to, class, tenant, tag = known[7], m.fields.queue, known[10], known[6], tonumber(known[13])
  local score = tonumber(redis.call('HGET', key, 'score'))
  local share = string.match(known[17] or '', '^%S+')
  if TERMINAL[state] then return { 'ended', state, rev, attempt, 0, 0 } end
  local is_meant = state == 'queued' and from == m.from and from ~= to and share == m.rollout and not known[14]
  if not (is_meant and tag and score) or redis.call('ZREM', prefix .. ':' .. from .. ':prioritized', m.id) == 0 then
    return { 'stale', state, rev, attempt, 0, 0 }
  end
  redis.call('DEL', prefix .. ':' .. from .. ':' .. m.id)
  -- Each group has a virtual time; what the job has waited for in its old group counts in the new one.
  local fair = prefix .. ':fair:' .. to
  local there = tonumber(redis.call('HGET', fair, class) or 0)
  local here = tonumber(redis.call('HGET', prefix .. ':fair:' .. from, class) or 0)
  local new_tag = math.max(there, tag + there - here)
  local next_tag = new_tag + math.max(1, tonumber(known[11])) / m.weight
  redis.call('ZADD', fair .. ':' .. class, 'GT', string.format('%.17g', next_tag), tenant)
  -- As after an admission: the job is on its way into the queue.
  redis.call('HSET', fair, class .. ' :last', now)
  shift_load(from, class, tenant, known[15], known[11], -1)
  shift_load(to, class, tenant, m.fields.model, known[11], 1)
  list_group(to)
  rev = rev + 1
  local written = { 'rev', rev, 'moved_from', known[15], 'fair_tag', string.format('%.17g', new_tag),
    'score', string.format('%.0f', math.floor(score + new_tag - tag)) }
  append_fields(written, m.fields)
  redis.call('HSET', key, unpack(written))
  announce(m.id, state, rev, EVENT.create, nil, known[12])
  return { 'ok', state, rev, attempt, 0, 0, redis.call('HGETALL', key) }
end

local function apply(m)
  if m.move == 'create' then return create(m) end
  local key = prefix .. ':record:' .. m.id
  local known = redis.call('HMGET', key, 'state', 'rev', 'attempt', 'lease', 'cancel_requested', 'tenant', 'queue',
    'worker', 'deadline_at', 'priority', 'cost', 'hook_events', 'fair_tag', 'parent', 'model', 'held_by',
    'rollout')
  local state, rev, attempt, lease = known[1], tonumber(known[2]), tonumber(known[3]), known[4]
  if not state then return { 'missing', '', 0, 0, 0 } end
  local faulty = faulty_field(known)
  if faulty then return { 'unreadable', state, rev or 0, attempt or 0, 0, 0, faulty } end
  if m.move == 'reassign' then return reassign(m, key, known) end
  local cancel_requested = known[5] and 1 or 0
  local watched = 0
  if m.move == 'start' or m.move == 'progress' then
    -- Who follows a workflow follows its nodes.
    local parent = known[14] or ''
    local by = redis.call('MGET', prefix .. ':watched:' .. m.id, prefix .. ':watched:' .. parent,
      prefix .. ':followed:' .. m.id, prefix .. ':followed:' .. parent)
    watched = (by[1] or by[2]) and 2 or (by[3] or by[4]) and 1 or 0
  end
  local function answer(code) return { code, state, rev, attempt, cancel_requested, watched } end

  local move = m.move
  if TERMINAL[state] then
    -- A finished record keeps the lease that ended it, so that the same move sent again is recognised.
    if state == MOVES[move].to and m.lease and m.lease == redis.call('HGET', key, 'ended_by') then return answer('same') end
    return answer('ended')
  end
  if not MOVES[move].from[state] then return answer('stale') end
  if state == 'running' then
    if move == 'start' then
      if m.lease == lease then
        local same = answer('same')
        same[7] = redis.call('HGETALL', key)
        return same
      end
    elseif m.lease then
      if m.lease ~= lease then return answer('stale') end
    -- A record without a lease is a workflow: no worker runs it, and the lock on it only guards closing its flow.
    elseif lease and redis.call('EXISTS', prefix .. ':' .. known[7] .. ':' .. m.id .. ':lock') == 1 then
      if move ~= 'cancel' then return answer('stale') end
      redis.call('HSET', key, 'cancel_requested', '1')
      redis.call('PUBLISH', prefix .. ':cancel:' .. known[8], m.id)
      cancel_requested = 1
      return answer('requested')
    end
  end

  -- A cancel request or a passed deadline goes before a new attempt.
  if move == 'start' or move == 'requeue' then
    if cancel_requested == 1 then
      move = 'cancel'
    elseif known[9] and tonumber(known[9]) <= now then
      move = 'expire'
    end
  end
  if (move == 'start' or move == 'requeue' or TERMINAL[MOVES[move].to]) and is_over(known[14]) then move = 'cancel' end

  local before = state
  state = MOVES[move].to
  if before == 'queued' then
    shift_load(known[7], known[10], known[6], known[15], known[11], -1)
  elseif state == 'queued' then
    shift_load(known[7], known[10], known[6], known[15], known[11], 1)
  end
  if state == 'running' then
    redis.call('SADD', prefix .. ':running:' .. known[6], m.id)
  elseif before == 'running' then
    redis.call('SREM', prefix .. ':running:' .. known[6], m.id)
  end
  rev = rev + 1
  local written = { 'state', state, 'rev', rev }
  if move == m.move then append_fields(written, m.fields) end
  if move == 'start' then
    attempt = attempt + 1
    append(written, 'attempt', attempt, 'started_at', now, 'lease', m.lease)
  elseif move == 'begin' then
    append(written, 'started_at', now)
  elseif move == 'requeue' and m.refund then
    attempt = attempt - 1
    append(written, 'attempt', attempt)
  elseif TERMINAL[state] then
    append(written, 'finished_at', now, 'expires_at', now + retention)
    if m.lease then append(written, 'ended_by', m.lease) end
  end
  redis.call('HSET', key, unpack(written))
  if move == 'start' then
    if known[13] then advance_virtual_time(known[7], known[10], tonumber(known[13])) end
  elseif move == 'requeue' then
    redis.call('HDEL', key, 'lease', 'started_at', 'worker', 'progress')
  elseif TERMINAL[state] then
    finish(key, m.id, known[6])
    if known[17] then count_outcome(known[17], state, move == m.move and m.fields or nil) end
    -- The workflow of this node must advance: the caller of this script does it, or the janitor a little later.
    if known[14] then redis.call('ZADD', prefix .. ':graphs', now, known[14]) end
    -- The same for a workflow that ends: its remaining nodes must stop.
    local graph = redis.call('HGET', key, 'graph')
    if graph then
      redis.call('ZADD', prefix .. ':graphs', now, m.id)
      keep_nodes(graph)
    end
  end
  if known[16] and TERMINAL[state] then send_end(known[16], m.id, key, m.fields) end
  announce(m.id, state, rev, EVENT[move], m.data or (move == 'progress' and m.fields and m.fields.progress) or nil, known[12])

  if move ~= m.move then return answer('overtaken') end
  local done = answer('ok')
  if move == 'start' then done[7] = redis.call('HGETALL', key) end
  return done
end

local outcomes = {}
for i, m in ipairs(cjson.decode(ARGV[2])) do
  outcomes[i] = apply(m)
end
return outcomes

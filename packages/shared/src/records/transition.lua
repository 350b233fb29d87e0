-- The only writer of a job's state: applies a list of moves, each whole or not at all, in one round trip.
--
-- KEYS[1]  <prefix>:live      ids of all jobs without an end, by creation time
-- ARGV[1]  <prefix>           for example {lehr}; every key below carries it, so all share one cluster slot
-- ARGV[2]  JSON list of moves {move, id, lease?, fields?, data?, refund?}; data is the event's own, JSON
-- ARGV[3]  how long a finished record is kept, ms
--
-- MOVES is put before this text when it is loaded: per move, the states it may find and the one it leaves
-- (records/record.ts).
--
-- Beside the state it keeps what must never disagree with it: the tenant's list, live and running jobs, the load of each group
-- queue, and the outbox of events that somebody asked to be told of.
--
-- A move speaks for a running attempt by its lease. A move without one may touch a running record only when no
-- lease on it is alive any more (BullMQ's lock key is gone); `cancel` without one becomes a request to the worker.
--
-- Returns per move {code, state, rev, attempt, cancel_requested, watched, record}; `watched` says after a start or progress
-- whether somebody follows the job live, `record` is the flat hash after a start.
--   ok         applied
--   same       this very move had been applied before (its reply was lost)
--   requested  the worker that runs the job was asked to cancel it
--   ended      the record has an end already
--   overtaken  the record came to its end here: start or requeue found a cancel request or a deadline passed
--   stale      another attempt owns the job now, or a worker's lease on it is still alive
--   exists     create found a record of this id
--   missing    there is no such record

local prefix = ARGV[1]
local retention = tonumber(ARGV[3])
local EVENTS_KEPT = 512

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local EVENT = {
  create = 'job.queued', start = 'job.started', begin = 'job.started', progress = 'job.progress', requeue = 'job.queued',
  output = 'job.output',
  succeed = 'job.succeeded', fail = 'job.failed', cancel = 'job.canceled', expire = 'job.expired',
}
local TERMINAL = { succeeded = true, failed = true, canceled = true, expired = true }

local function contains(list, value)
  for _, each in ipairs(list) do
    if each == value then return true end
  end
  return false
end

-- Estimated engine ms that wait in a group, by priority class; admission reads it. `sign` is 1 or -1.
local function shift_load(queue, priority, cost, sign)
  redis.call('HINCRBYFLOAT', prefix .. ':load:' .. queue, priority, sign * tonumber(cost))
end

-- Fair queueing: a class's turn is the start tag of the last job it served (queue/admit.lua hands them out).
local function advance_turn(queue, priority, tag)
  local turns = prefix .. ':fair:' .. queue
  local turn = tonumber(redis.call('HGET', turns, priority) or 0)
  if tag > turn then redis.call('HSET', turns, priority, tag) end
end

-- One event per change, numbered by the record's rev; then whoever waits for this job is woken.
local function announce(id, rev, event, data, hook_events)
  if hook_events and string.find(' ' .. hook_events .. ' ', ' ' .. event .. ' ', 1, true) then
    -- NX: an event that comes again (a second attempt starts) keeps its place; it has one webhook id for ever.
    redis.call('ZADD', prefix .. ':outbox', 'NX', now, id .. ' ' .. event)
    redis.call('PUBLISH', prefix .. ':outbox', id)
  end
  redis.call('XADD', prefix .. ':events:' .. id, 'MAXLEN', '~', EVENTS_KEPT, rev .. '-0',
    'type', event, 'at', now, 'data', data or '{}')
  redis.call('PUBLISH', prefix .. ':changed:' .. id, rev)
end

local function set_fields(key, fields)
  local flat = {}
  for name, value in pairs(fields or {}) do
    flat[#flat + 1] = name
    flat[#flat + 1] = value
  end
  if #flat > 0 then redis.call('HSET', key, unpack(flat)) end
end

local function create(m)
  local key = prefix .. ':record:' .. m.id
  local known = redis.call('HMGET', key, 'state', 'rev', 'attempt')
  if known[1] then
    -- A create that is repeated was admitted again: that place is not needed.
    redis.call('HDEL', prefix .. ':reserved', m.id)
    if TERMINAL[known[1]] then
      redis.call('ZREM', KEYS[1], m.id)
      redis.call('ZREM', prefix .. ':live:' .. m.fields.tenant, m.id)
    end
    return { 'exists', known[1], tonumber(known[2]), tonumber(known[3]), 0 }
  end
  set_fields(key, m.fields)
  redis.call('HSET', key, 'id', m.id, 'state', 'queued', 'rev', 1, 'attempt', 0, 'created_at', now)
  redis.call('HDEL', prefix .. ':reserved', m.id)
  redis.call('ZADD', KEYS[1], now, m.id)
  redis.call('ZADD', prefix .. ':live:' .. m.fields.tenant, now, m.id)
  if not m.fields.parent then redis.call('ZADD', prefix .. ':jobs:' .. m.fields.tenant, 0, m.id) end
  if m.fields.deadline_at then redis.call('ZADD', prefix .. ':deadlines', m.fields.deadline_at, m.id) end
  -- A workflow that is cancelled at this moment may have been read without this node; the janitor looks again.
  if m.fields.parent then redis.call('ZADD', prefix .. ':graphs', now, m.fields.parent) end
  if m.fields.graph then
    redis.call('ZADD', prefix .. ':graphs', now, m.id)
  elseif redis.call('SADD', prefix .. ':groups', m.fields.queue) == 1 then
    redis.call('PUBLISH', prefix .. ':groups', m.fields.queue)
  end
  shift_load(m.fields.queue, m.fields.priority, m.fields.cost, 1)
  announce(m.id, 1, EVENT.create, nil, m.fields.hook_events)
  return { 'ok', 'queued', 1, 0, 0, now }
end

local function finish(key, id, tenant)
  redis.call('HSET', key, 'finished_at', now, 'expires_at', now + retention)
  redis.call('HDEL', key, 'lease', 'progress', 'cancel_requested')
  redis.call('ZREM', KEYS[1], id)
  redis.call('ZREM', prefix .. ':live:' .. tenant, id)
  redis.call('ZREM', prefix .. ':deadlines', id)
  redis.call('PEXPIRE', key, retention)
  redis.call('PEXPIRE', prefix .. ':events:' .. id, retention)
end

local function apply(m)
  if m.move == 'create' then return create(m) end
  local key = prefix .. ':record:' .. m.id
  local known = redis.call('HMGET', key, 'state', 'rev', 'attempt', 'lease', 'cancel_requested', 'tenant', 'queue',
    'worker', 'deadline_at', 'priority', 'cost', 'hook_events', 'fair_tag', 'parent')
  local state, rev, attempt, lease = known[1], tonumber(known[2]), tonumber(known[3]), known[4]
  if not state then return { 'missing', '', 0, 0, 0 } end
  local wanted = known[5] and 1 or 0
  local watched = 0
  if m.move == 'start' or m.move == 'progress' then
    -- A watched workflow makes its nodes watched.
    watched = redis.call('EXISTS', prefix .. ':watched:' .. m.id, prefix .. ':watched:' .. (known[14] or ''))
  end
  local function answer(code) return { code, state, rev, attempt, wanted, watched } end

  local move = m.move
  if TERMINAL[state] then
    -- The end keeps the lease that brought it, so that a repeat whose first reply was lost is known.
    if state == MOVES[move].to and m.lease and m.lease == redis.call('HGET', key, 'ended_by') then return answer('same') end
    return answer('ended')
  end
  if not contains(MOVES[move].from, state) then return answer('stale') end
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
      wanted = 1
      return answer('requested')
    end
  end

  -- What a job's owner or its deadline decided meanwhile goes before a new attempt.
  if move == 'start' or move == 'requeue' then
    if wanted == 1 then
      move = 'cancel'
    elseif known[9] and tonumber(known[9]) <= now then
      move = 'expire'
    end
  end

  local before = state
  state = MOVES[move].to
  if before == 'queued' then
    shift_load(known[7], known[10], known[11], -1)
  elseif state == 'queued' then
    shift_load(known[7], known[10], known[11], 1)
  end
  if state == 'running' then
    redis.call('SADD', prefix .. ':running:' .. known[6], m.id)
  elseif before == 'running' then
    redis.call('SREM', prefix .. ':running:' .. known[6], m.id)
  end
  rev = rev + 1
  if move == m.move then set_fields(key, m.fields) end
  redis.call('HSET', key, 'state', state, 'rev', rev)
  if move == 'start' then
    attempt = attempt + 1
    redis.call('HSET', key, 'attempt', attempt, 'started_at', now, 'lease', m.lease)
    if known[13] then advance_turn(known[7], known[10], tonumber(known[13])) end
  elseif move == 'begin' then
    redis.call('HSET', key, 'started_at', now)
  elseif move == 'requeue' then
    if m.refund then
      attempt = attempt - 1
      redis.call('HSET', key, 'attempt', attempt)
    end
    redis.call('HDEL', key, 'lease', 'started_at', 'worker', 'progress')
  elseif TERMINAL[state] then
    if m.lease then redis.call('HSET', key, 'ended_by', m.lease) end
    finish(key, m.id, known[6])
    -- The workflow of this node must advance: the caller of this script does it, or the janitor a little later.
    if known[14] then redis.call('ZADD', prefix .. ':graphs', now, known[14]) end
    -- The same for a workflow that ends: its remaining nodes must stop.
    if redis.call('HEXISTS', key, 'graph') == 1 then redis.call('ZADD', prefix .. ':graphs', now, m.id) end
  end
  announce(m.id, rev, EVENT[move], m.data or (move == 'progress' and m.fields and m.fields.progress) or nil, known[12])

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

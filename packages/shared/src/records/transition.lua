-- Every change of a job's state: the function `apply` makes one move, whole or not at all. Scripts apply a list of moves (store.ts), start
-- attempts (queue/start.lua) and end them (queue/end.lua). The first state of most jobs is written with their admission (queue/accept.lua);
-- workflows, nodes and jobs with attachments are created here.
--
-- KEYS[1]  <prefix>:live      ids of all unfinished jobs, by creation time
-- ARGV[1]  <prefix>           for example {lehr}; every key below begins with it, so all share one cluster slot
-- ARGV[2]  JSON; of the script of store.ts, the list of its moves
-- ARGV[3]  for how many ms a finished record is kept, and the use of a day: `<ms> <ms>`
--
-- MOVES is put before this text when it is loaded: per move, the states it may start from and the one it leads to
-- (records/record.ts). So are planned.lua, move-effects.lua, create.lua, count-use.lua and
-- count-outcome.lua.
--
-- With the state it writes everything that must agree with it: the tenant's job list, the sets of live and running jobs, the
-- load of each group queue, and the outbox of webhook events.
--
-- A move of a running attempt names its lease. A move without a lease may change a running record only when its lease is
-- gone (BullMQ's lock key has expired); until then `cancel` becomes a request to the worker, and other moves are stale.
--
-- A move is {move, id, lease?, fields?, data?, refund?, abandoned?}; data is the data of the move's event, as JSON. `apply` returns
-- {code, state, rev, attempt, cancel_requested, watched, record}; after a start or progress, `watched` is 1 if a caller follows the job and 2
-- if one wants previews; `record` is the flat hash after a start.
--   ok         applied
--   same       the same move was applied before (its reply was lost)
--   requested  the worker that runs the job was asked to cancel it
--   ended      the record is finished already
--   overtaken  the job was ended in another way instead: start or requeue found a cancel request or a passed deadline, or the
--              workflow of this node has ended
--   stale      another attempt owns the job now, or a worker's lease on it is still alive; a caller has adopted the abandoned job
--   exists     create found a record with this id
--   missing    there is no such record
--   parked     start found that the job may not run yet: its tenant is paused, or enough jobs of its concurrency key run
--   unreadable the record lacks what the move needs: it is damaged or of another version. Nothing is changed; in place of the
--              record stands the name of the field

-- An ended workflow never changes, and its result is that of its nodes. So a node that has not ended by then is cancelled, whatever
-- its worker reports.
local function is_over(workflow)
  return workflow and TERMINAL[redis.call('HGET', prefix .. ':record:' .. workflow, 'state') or ''] or false
end

local FIELDS = {
  'state', 'rev', 'attempt', 'lease', 'cancel_requested', 'tenant', 'queue', 'worker', 'deadline_at', 'priority', 'cost',
  'hook_events', 'fair_tag', 'parent', 'model', 'held_by', 'rollout', 'batch', 'concurrency', 'parked',
}

-- The fields of a record that moves depend on, by their names; false for one that it has not got. Nil for a key that is no hash: an error
-- would also undo the answer to the moves before this one, and the caller would not know of the jobs that it has started.
local function read_fields(key)
  local values = redis.pcall('HMGET', key, unpack(FIELDS))
  if values.err then
    if string.find(values.err, 'WRONGTYPE', 1, true) then return nil end
    error(values.err)
  end
  local known = {}
  for i, value in ipairs(values) do known[FIELDS[i]] = value end
  return known
end

-- The first field of a record that a move would fail on.
local function faulty_field(known)
  if not tonumber(known.rev) then return 'rev' end
  if not tonumber(known.attempt) then return 'attempt' end
  if not known.tenant then return 'tenant' end
  if not known.queue then return 'queue' end
  if known.deadline_at and not tonumber(known.deadline_at) then return 'deadline_at' end
  if not known.priority then return 'priority' end
  if not tonumber(known.cost) then return 'cost' end
  if known.fair_tag and not tonumber(known.fair_tag) then return 'fair_tag' end
end

-- 2 when previews of the job are wanted, 1 when only its events are, else 0. Readers of a workflow also read its nodes.
local function watched_by(id, parent)
  local by = redis.call('MGET', prefix .. ':watched:' .. id, prefix .. ':watched:' .. parent,
    prefix .. ':followed:' .. id, prefix .. ':followed:' .. parent)
  return (by[1] or by[2]) and 2 or (by[3] or by[4]) and 1 or 0
end

-- Whether no caller has adopted the job `m.abandoned` until it was due. Decided here, in one step with its cancellation: a job that a
-- caller was shown after it had adopted it is not cancelled.
local function is_abandoned(m)
  local due_at = redis.call('ZSCORE', prefix .. ':abandoned', m.abandoned.entry)
  if not due_at or tonumber(due_at) > m.abandoned.before then return false end
  redis.call('ZREM', prefix .. ':abandoned', m.abandoned.entry)
  return true
end

-- Why a move of a record that has not ended is not applied, as a code; nil when it is. A cancellation that only the worker can do is
-- requested here.
local function refusal(m, known)
  if not MOVES[m.move].from[known.state] or (m.abandoned and known.state == 'running') then return 'stale' end
  if known.state ~= 'running' then return nil end
  if m.move == 'start' then return m.lease == known.lease and 'same' or nil end
  if m.lease then return m.lease ~= known.lease and 'stale' or nil end
  -- A record without a lease is a workflow: no worker runs it, and the lock on it only guards closing its flow.
  if not known.lease or redis.call('EXISTS', prefix .. ':' .. known.queue .. ':' .. m.id .. ':lock') == 0 then return nil end
  if m.move ~= 'cancel' then return 'stale' end
  redis.call('HSET', prefix .. ':record:' .. m.id, 'cancel_requested', '1')
  redis.call('PUBLISH', prefix .. ':cancel:' .. known.worker, m.id)
  return 'requested'
end

-- The move that is made in place of this one: a cancel request, a passed deadline and an ended workflow go before a new attempt.
local function made_move(move, known)
  if move == 'release' or move == 'start' or move == 'requeue' then
    if known.cancel_requested then
      move = 'cancel'
    elseif known.deadline_at and tonumber(known.deadline_at) <= now then
      move = 'expire'
    end
  end
  if (move == 'start' or move == 'requeue' or TERMINAL[MOVES[move].to]) and is_over(known.parent) then return 'cancel' end
  return move
end

-- The device time of an ended job, ms. What succeeded was measured, without the attempts that were lost. Estimated is that of pictures that
-- went on from a checkpoint, and by its last progress that of a job that was stopped while it ran.
local function device_time(known, state, metrics, progress)
  if state == 'succeeded' then
    return tonumber(string.match(metrics or '', '"device_ms":([%d.eE+-]+)')) or tonumber(known.cost)
  end
  local fraction = known.state == 'running' and string.match(progress or '', '"fraction":([%d.eE+-]+)')
  return (tonumber(fraction) or 0) * tonumber(known.cost)
end

-- What follows from the end of a job. `fields` are those of the move that ended it.
local function end_job(id, key, known, state, fields)
  local more = redis.call('HMGET', key, 'metadata', 'workflow', 'payer', 'progress')
  local metadata, workflow, payer, progress = more[1], more[2], more[3], more[4]
  finish(key, id, known.tenant)
  if not known.parent then
    list_ended(id, known.tenant, state)
    list_labels(id, known.tenant, metadata, true)
  end
  -- A workflow runs nothing itself: its nodes are counted. A record of an older version may have no payer.
  if not workflow then
    local payer_key = string.match(payer or '', '"key":"([^" ]+)"') or '-'
    local device_ms = device_time(known, state, fields and fields.metrics, progress)
    count_use({ prefix = prefix, now = now, kept = use_kept }, known.tenant, payer_key, known.model or '-', state, device_ms)
  end
  if known.batch then count_in_batch(key, known.batch, state) end
  if known.rollout then count_outcome(known.rollout, state, fields) end
  -- The workflow of this node must advance: the caller of this script does it, or the janitor a little later.
  if known.parent then redis.call('ZADD', prefix .. ':workflows', now, known.parent) end
  -- The same for a workflow that ends: its remaining nodes must stop.
  if workflow then
    redis.call('ZADD', prefix .. ':workflows', now, id)
    keep_nodes(workflow)
    unplan(prefix, known.tenant, id)
  end
  if known.held_by then send_end(known.held_by, id, key, fields) end
end

local function apply(m)
  if m.move == 'create' then return create(m) end
  if m.abandoned and not is_abandoned(m) then return { 'stale', '', 0, 0, 0 } end
  local key = prefix .. ':record:' .. m.id
  local known = read_fields(key)
  if not known then return { 'unreadable', '', 0, 0, 0, 0, 'it is not a hash' } end
  local state, rev, attempt = known.state, tonumber(known.rev), tonumber(known.attempt)
  if not state then return { 'missing', '', 0, 0, 0 } end
  local faulty = faulty_field(known)
  if faulty then return { 'unreadable', state, rev or 0, attempt or 0, 0, 0, faulty } end
  local cancel_requested = known.cancel_requested and 1 or 0
  local watched = (m.move == 'start' or m.move == 'progress') and watched_by(m.id, known.parent or '') or 0
  local function answer(code) return { code, state, rev, attempt, cancel_requested, watched } end

  if TERMINAL[state] then
    -- A finished record keeps the lease that ended it, so that the same move sent again is recognised.
    local is_same = state == MOVES[m.move].to and m.lease and m.lease == redis.call('HGET', key, 'ended_by')
    return answer(is_same and 'same' or 'ended')
  end
  local refused = refusal(m, known)
  if refused == 'requested' then cancel_requested = 1 end
  if refused then
    local reply = answer(refused)
    if refused == 'same' then reply[7] = redis.call('HGETALL', key) end
    return reply
  end

  local move = made_move(m.move, known)
  local why_not = move == 'start' and state == 'queued' and held_by_whom(known)
  if why_not then
    park(m.id, known, why_not)
    return answer('parked')
  end
  local is_own = move == m.move
  state = MOVES[move].to
  follow_state(m.id, known, state)
  -- A job that was parked has been queued all the time, for its readers, too.
  local is_back = move == 'release' and known.parked
  if not is_back then rev = rev + 1 end
  local written = { 'state', state, 'rev', rev }
  if is_own then append_fields(written, m.fields) end
  if move == 'start' then
    attempt = attempt + 1
    append(written, 'attempt', attempt, 'started_at', now, 'lease', m.lease)
  elseif move == 'begin' then
    append(written, 'started_at', now)
  elseif move == 'release' then
    append(written, 'released_at', now)
  elseif move == 'requeue' and m.refund then
    attempt = attempt - 1
    append(written, 'attempt', attempt)
  elseif TERMINAL[state] then
    append(written, 'finished_at', now, 'expires_at', now + retention)
    if m.lease then append(written, 'ended_by', m.lease) end
  end
  redis.call('HSET', key, unpack(written))
  if known.parked then redis.call('HDEL', key, 'parked') end
  if move == 'start' then
    if known.fair_tag then advance_virtual_time(known.queue, known.priority, tonumber(known.fair_tag)) end
  elseif move == 'release' then
    enter(m.id, known.queue, known.model, redis.call('HEXISTS', key, 'workflow') == 1)
  elseif move == 'requeue' then
    redis.call('HDEL', key, 'lease', 'started_at', 'worker', 'progress')
  elseif TERMINAL[state] then
    end_job(m.id, key, known, state, is_own and m.fields or nil)
  end
  -- A workflow shows the states of its nodes.
  if known.parent and state ~= known.state then redis.call('PUBLISH', prefix .. ':changed:' .. known.parent, rev) end
  if not is_back then
    announce(m.id, state, rev, EVENT[move], m.data or (move == 'progress' and m.fields and m.fields.progress) or nil, known.hook_events)
  end

  if not is_own then return answer('overtaken') end
  local reply = answer('ok')
  if move == 'start' then reply[7] = redis.call('HGETALL', key) end
  return reply
end

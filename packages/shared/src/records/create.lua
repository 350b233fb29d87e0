-- The move that makes a record. This text is put after planned.lua and move-effects.lua, and before transition.lua and
-- queue/accept.lua, which use it.

-- Notes in the record of an ended job that this one repeats it. Its version stays: nothing that callers are shown has changed. One that has
-- expired must not come back; of a damaged one nothing is noted.
local function note_retry(key, id)
  if redis.call('EXISTS', key) == 1 then redis.pcall('HSET', key, 'retried_as', id) end
end

-- Writes the record of a job that has none. This is all of the move for a job that is admitted by the same script (queue/accept.lua).
-- Returns whether jobs of this tenant and group that the same script stores after it need not be listed but by their id: `is_listed`.
local function store(id, fields, is_listed)
  -- As text: Redis takes half a microsecond to write a number of a script.
  local at = string.format('%.0f', now)
  -- A job with a time enters its queue then (queue/release.lua), and has no load before.
  local state = fields.run_at and 'scheduled' or 'queued'
  local written = { 'id', id, 'state', state, 'rev', '1', 'attempt', '0', 'created_at', at }
  append_fields(written, fields)
  redis.call('HSET', prefix .. ':record:' .. id, unpack(written))
  if fields.retried_from then note_retry(prefix .. ':record:' .. fields.retried_from, id) end
  redis.call('ZADD', KEYS[1], at, id)
  redis.call('ZADD', prefix .. ':live:' .. fields.tenant, '0', id)
  local is_settled = false
  if not fields.parent then
    is_settled = list_job(id, fields.tenant, is_listed)
    list_labels(id, fields.tenant, fields.metadata, false)
  end
  if fields.deadline_at then redis.call('ZADD', prefix .. ':deadlines', fields.deadline_at, id) end
  if fields.parent then
    unplan(prefix, fields.tenant, fields.parent, id)
    -- A workflow that is cancelled at this moment may have been read without this node; the janitor looks again.
    redis.call('ZADD', prefix .. ':workflows', now, fields.parent)
  end
  if fields.run_at then
    redis.call('ZADD', prefix .. ':scheduled-jobs', fields.run_at, id)
    announce(id, state, 1, EVENT.schedule, nil, fields.hook_events)
    return is_settled
  end
  if not is_listed then enter(id, fields.queue, fields.model, fields.workflow) end
  shift_load(fields.queue, fields.priority, fields.tenant, fields.model, fields.cost, 1)
  announce(id, state, 1, EVENT.create, nil, fields.hook_events)
  return is_settled
end

-- m: {id, fields}, fields by name. Returns what transition.lua returns of a move, and after 'ok' also the creation time.
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
  store(m.id, m.fields)
  redis.call('HDEL', prefix .. ':reserved', m.id)
  return { 'ok', m.fields.run_at and 'scheduled' or 'queued', 1, 0, 0, now }
end

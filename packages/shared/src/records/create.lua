-- The move that makes a record. This text is put after planned.lua and move-effects.lua, and before transition.lua and queue/accept.lua, which use it.
--
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
  local written = { 'id', m.id, 'state', 'queued', 'rev', 1, 'attempt', 0, 'created_at', now }
  append_fields(written, m.fields)
  redis.call('HSET', key, unpack(written))
  redis.call('HDEL', prefix .. ':reserved', m.id)
  redis.call('ZADD', KEYS[1], now, m.id)
  redis.call('ZADD', prefix .. ':live:' .. m.fields.tenant, 0, m.id)
  if not m.fields.parent then list_job(m.id, m.fields.tenant) end
  if m.fields.deadline_at then redis.call('ZADD', prefix .. ':deadlines', m.fields.deadline_at, m.id) end
  if m.fields.parent then
    unplan(prefix, m.fields.tenant, m.fields.parent, m.id)
    -- A workflow that is cancelled at this moment may have been read without this node; the janitor looks again.
    redis.call('ZADD', prefix .. ':workflows', now, m.fields.parent)
  end
  if m.fields.workflow then
    redis.call('ZADD', prefix .. ':workflows', now, m.id)
  else
    list_group(m.fields.queue)
  end
  shift_load(m.fields.queue, m.fields.priority, m.fields.tenant, m.fields.model, m.fields.cost, 1)
  announce(m.id, 'queued', 1, EVENT.create, nil, m.fields.hook_events)
  return { 'ok', 'queued', 1, 0, 0, now }
end

-- Claims jobs of one group queue and starts an attempt of each, in one round trip. Each job is claimed and started whole, or not at all.
--
-- These texts are put before this one when it is loaded (attempt-store.ts): the function `apply` (records/transition.lua, which describes KEYS
-- and ARGV[1] and ARGV[3]), and BullMQ's script that takes the next job as the function `bull_take`, which takes KEYS and ARGV.
--
-- ARGV[2]  JSON {queue, worker, lease_ms, leases, first?}: a lease token for each job that may be claimed; `first` is a job that is claimed
--          before all others, if it still waits
--
-- Returns for each job {id, lease, why BullMQ gave it up or '', outcome of the start}. A job that BullMQ gave up is claimed and not started,
-- so it has no outcome: the worker must fail it.

local asked = cjson.decode(ARGV[2])
local base = prefix .. ':' .. asked.queue .. ':'
local function of_queue(...)
  local keys = { ... }
  for i, name in ipairs(keys) do keys[i] = base .. name end
  return keys
end
local queue_keys = of_queue(
  'wait', 'active', 'prioritized', 'events', 'stalled', 'limiter', 'delayed', 'paused', 'meta', 'pc', 'marker'
)

if asked.first then redis.call('ZADD', base .. 'prioritized', 'XX', -1, asked.first) end

local started = {}
for _, lease in ipairs(asked.leases) do
  local lock = cmsgpack.pack({ token = lease, name = lease, lockDuration = asked.lease_ms })
  local id = bull_take(queue_keys, { base, now, lock })[2]
  if id == 0 then break end
  local given_up = redis.call('HGET', base .. id, 'defa')
  started[#started + 1] = {
    id, lease, given_up or '',
    given_up and {} or apply({ move = 'start', id = id, lease = lease, fields = { worker = asked.worker } }),
  }
end
-- BullMQ's script leaves a marker with every job that it takes. Where none waits any more, it would wake a worker for nothing.
if redis.call('ZCARD', base .. 'prioritized') == 0 and redis.call('LLEN', base .. 'wait') == 0 then redis.call('DEL', base .. 'marker') end
return started

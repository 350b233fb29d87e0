-- Claims jobs of one group queue and starts an attempt of each, in one round trip. Each job is claimed and started whole, or not at all.
-- They are of one class, because there may be no room for a less urgent one beside them.
--
-- These texts are put before this one when it is loaded (attempt-store.ts): the function `apply` (records/transition.lua, which describes KEYS
-- and ARGV[1] and ARGV[3]), and BullMQ's script that takes the next job as the function `bull_take`, which takes KEYS and ARGV.
--
-- ARGV[2]  JSON {queue, worker, lease_ms, leases, first?}: a lease token for each job that may be claimed; `first` is a job that is claimed
--          before all others, if it still waits
--
-- Jobs that may not start yet are parked on the way (records/transition.lua), up to MAX_PARKED of them.
--
-- Returns for each job {id, lease, why BullMQ gave it up or '', outcome of the start}. A job that BullMQ gave up is claimed and not started,
-- so it has no outcome: the worker must fail it.
--
-- A call may be sent again: its reply was lost with the connection. Then it returns the jobs that it has claimed under its leases, with the
-- outcome 'same', and claims no others. It knows itself by its first lease, and these jobs by their locks:
-- <prefix>:start:<worker>  the first lease of the last start of this worker; it expires with the leases. So a worker has one call at a time

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

-- About 50 us each.
local MAX_PARKED = 100

local started = {}
-- Returns the record, and whether the job was parked instead: then it is not in the queue any more.
local function start(id, lease)
  local given_up = redis.call('HGET', base .. id, 'defa')
  local outcome = given_up and {} or apply({ move = 'start', id = id, lease = lease, fields = { worker = asked.worker } })
  if outcome[1] == 'parked' then
    redis.call('LREM', base .. 'active', 1, id)
    redis.call('DEL', base .. id .. ':lock')
    return nil, true
  end
  started[#started + 1] = { id, lease, given_up or '', outcome }
  return outcome[7], false
end

-- Starts the jobs that this call has claimed before. Only a lost reply costs this search.
local LOCKS_AT_ONCE = 500
local function start_again()
  local job_of, from, ids = {}, 0, nil
  repeat
    ids = redis.call('LRANGE', base .. 'active', from, from + LOCKS_AT_ONCE - 1)
    local locks = {}
    for i, id in ipairs(ids) do locks[i] = base .. id .. ':lock' end
    for i, lease in ipairs(#ids > 0 and redis.call('MGET', unpack(locks)) or {}) do
      if lease then job_of[lease] = ids[i] end
    end
    from = from + LOCKS_AT_ONCE
  until #ids < LOCKS_AT_ONCE
  for _, lease in ipairs(asked.leases) do
    local id = job_of[lease]
    if id then start(id, lease) end
  end
end

local last = redis.call('SET', prefix .. ':start:' .. asked.worker, asked.leases[1], 'PX', asked.lease_ms, 'GET')
if last == asked.leases[1] then start_again() end
if #started > 0 then return started end

-- How many jobs wait in the class of this record, a list of names and values, or in a more urgent one; nil where the job does not run.
local CLASS_SPAN, CLASS = 2251799813685248, { interactive = 1, standard = 2, bulk = 3 } -- 2^51
local function waiting_beside(record)
  for i = 1, type(record) == 'table' and #record or 0, 2 do
    local class = record[i] == 'priority' and CLASS[record[i + 1]]
    if class then return redis.call('ZCOUNT', base .. 'prioritized', '-inf', string.format('(%.17g', class * CLASS_SPAN)) end
  end
end

if asked.first then redis.call('ZADD', base .. 'prioritized', 'XX', -1, asked.first) end
-- Once a job runs: how many may be claimed beside it.
local left
local parked = 0
for i, lease in ipairs(asked.leases) do
  if left == 0 then break end
  local lock = cmsgpack.pack({ token = lease, name = lease, lockDuration = asked.lease_ms })
  local id, record, is_parked
  repeat
    id = bull_take(queue_keys, { base, now, lock })[2]
    if id == 0 then break end
    record, is_parked = start(id, lease)
    if is_parked then parked = parked + 1 end
  until not is_parked or parked == MAX_PARKED
  if id == 0 or is_parked then break end
  if left then
    left = left - 1
  elseif i < #asked.leases then
    left = waiting_beside(record)
  end
end
-- BullMQ's script leaves a marker with every job that it takes. Where none waits any more, it would wake a worker for nothing.
if redis.call('EXISTS', base .. 'prioritized', base .. 'wait') == 0 then redis.call('DEL', base .. 'marker') end
return started

-- Decides whether a job may be stored, and where in line, before anything is stored; one round trip. fair-wait.lua, budget.lua and
-- records/planned.lua are put before this text.
--
-- admit(prefix, job): all keys begin with `prefix`. `job` is read from JSON, in which what does not apply is left out:
--   id, tenant, queue
--   classes       its class, then the more urgent ones, separated by spaces: 'standard interactive'
--   first_score   the smallest score of its class
--   cost          estimated engine ms; of a workflow, of all its nodes
--   weight        of the tenant, against others
--   budget        {key, full_ms}: engine ms per minute of the key that pays
--   nodes         of a workflow: its nodes as in records/planned.lua
--   between_ms    of a workflow: how long its nodes may wait for each other, engine ms
--   groups        the group queue of the job, of a workflow those of its nodes. Each {queue, cost, workers, elsewhere_ms, elsewhere_groups}:
--                 cost of these nodes, workers that serve it, engine ms that wait in other groups of these workers, how many these are
--   max_groups, groups_within_ms   how many group queues the tenant may use within this time
--   max_jobs, max_queued   how many unfinished jobs the tenant may have, and how many of them may wait
--   max_wait_ms   a job that would wait longer is refused
--   shares        {model, share} of the models that the workers of its groups serve: the share of its waiting jobs that they will run
--   max_own_ms    engine ms of the tenant that may wait for these workers
--   idempotency   {hash, fingerprint, kept_ms}
--   duplicate     {hash, is_retry, max_held}: the request adopts the job of an equal request that got no answer. A retry also that of an
--                 equal request that still waits for its answer. Of those max_held may wait; the next request adopts the job of the oldest
--
-- Keys
--   <prefix>:live, <prefix>:live:<tenant>   unfinished jobs of all, and of the tenant; <prefix>:running:<tenant>: those that run
--   <prefix>:reserved           admitted jobs whose record is not written yet: tenant and idempotency key, by id
--   <prefix>:record:<job id>
--   <prefix>:idem:<hash>        the idempotency key
--   <prefix>:unanswered:<hash>  jobs of equal requests that got no answer
--   <prefix>:budget:<key>
--   <prefix>:load:<queue>       estimated engine ms that wait in the group, by priority class
--   <prefix>:load-of:<tenant>   estimated engine ms of the tenant's waiting jobs, by model
--   <prefix>:groups-of:<tenant> group queues that the tenant used recently
--   <prefix>:fair:<queue>       fair queueing: the virtual time of each class
--   <prefix>:fair:<queue>:<class>  fair queueing: the start tag of each tenant's next job, where it is past the virtual time
--   <prefix>:<queue>:prioritized   BullMQ's waiting jobs, scored class * 2^51 + virtual ms
--
-- Returns {code, ...}:
--   {'admitted', score, start tag, job id, now, used, ms}   the job is reserved in live:<tenant>, and the idempotency key is bound to its
--                                id: its own, or that of an earlier request with this key whose process died before storing it. The
--                                budget is charged; of it, engine ms in use, and the time until it is full again
--   {'replay', job id}           same id, or same key and request; the job is stored
--   {'pending', job id}          same id, or same key and request; admitted, not stored yet
--   {'mismatch'}                 the key was used for another request
--   {'adopted', job id}          the job of an equal request that got no answer
--   {'spent', ms}                the budget is used up; some of it is there after this time
--   {'too-many', count, 'live', 'queued' or 'groups'}   the tenant has so many, and may not have this job as well
--   {'own-backlog', ms}          the tenant has this much waiting, and may not have this job as well
--   {'overloaded', ms}           the job would wait this long, by the place that fair queueing gives it
-- What a replay gets is found before anything is charged.

-- An admitted job is stored at once. A reservation older than this belongs to a process that died.
local SETTLE_MS = 1000
local TAGS_REMOVED = 16

-- Of one queue: the keys that fair_place takes, for a class.
local function group_keys(prefix, queue, class)
  local fair = prefix .. ':fair:' .. queue
  return fair, fair .. ':' .. class, prefix .. ':' .. queue .. ':prioritized', prefix .. ':load:' .. queue
end

local function admit(prefix, job)
  local id, tenant, classes, cost, first = job.id, job.tenant, job.classes, job.cost, job.first_score
  local class = string.match(classes, '^%S+')
  local all_live, own_live, reserved = prefix .. ':live', prefix .. ':live:' .. tenant, prefix .. ':reserved'

  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)

  -- Whether the job was admitted a moment ago. After a step back of the clock, its admission counts as made now.
  local function is_recent(admitted_id)
    local at = tonumber(redis.call('ZSCORE', all_live, admitted_id) or 0)
    if at > now then redis.call('ZADD', all_live, now, admitted_id) end
    return now - at <= SETTLE_MS
  end

  local idempotency = job.idempotency
  local idempotency_key = idempotency and prefix .. ':idem:' .. idempotency.hash
  if idempotency then
    local known = redis.call('GET', idempotency_key)
    if known then
      local first_id, fingerprint = string.match(known, '^(%S+) (%S+)$')
      if fingerprint ~= idempotency.fingerprint then return { 'mismatch' } end
      if redis.call('HEXISTS', reserved, first_id) == 0 then return { 'replay', first_id } end
      if is_recent(first_id) then return { 'pending', first_id } end
      -- The process that reserved the job died before storing it: this request takes over its id.
      id = first_id
      redis.call('DEL', idempotency_key)
    end
  elseif job.duplicate then
    local unanswered, max_held = prefix .. ':unanswered:' .. job.duplicate.hash, job.duplicate.max_held
    redis.call('ZREMRANGEBYSCORE', unanswered, '-inf', '(' .. now)
    local oldest = redis.call('ZRANGE', unanswered, 0, 0, 'WITHSCORES')
    local is_adopted = oldest[2] ~= 'inf' or job.duplicate.is_retry or (max_held and redis.call('ZCARD', unanswered) >= max_held)
    if oldest[1] and is_adopted then
      redis.call('ZREM', unanswered, oldest[1])
      return { 'adopted', oldest[1] }
    end
  end

  -- Two processes can start the same node of a workflow. The second one must not be charged.
  if redis.call('EXISTS', prefix .. ':record:' .. job.id) == 1 then return { 'replay', id } end
  if redis.call('HEXISTS', reserved, id) == 1 then
    if is_recent(id) then return { 'pending', id } end
    redis.call('ZREM', own_live, id)
    redis.call('ZREM', all_live, id)
    redis.call('HDEL', reserved, id)
    unplan(prefix, tenant, id)
  end

  local budget_key = job.budget and prefix .. ':budget:' .. job.budget.key
  local full = job.budget and job.budget.full_ms
  local used = full and budget_used(budget_key, full, now)
  if full and used >= full then return { 'spent', math.ceil((used - full) * BUDGET_WINDOW_MS / full) + 1 } end

  -- Sums of floats keep a rest: without a waiting job there is no load, and without a job no plan.
  local own_load, own_plan = prefix .. ':load-of:' .. tenant, prefix .. ':planned-of:' .. tenant
  local live = redis.call('ZCARD', own_live)
  local waiting = live - redis.call('SCARD', prefix .. ':running:' .. tenant)
  if waiting <= 0 then redis.call('DEL', own_load) end
  if live == 0 then redis.call('DEL', own_plan) end
  local planned = {}
  local sums = redis.call('HGETALL', own_plan)
  for i = 1, #sums, 2 do planned[sums[i]] = tonumber(sums[i + 1]) end
  -- Engine ms of the tenant that wait for these workers, and of them those of planned nodes of this class and of more urgent ones.
  local own_ms, planned_ms = 0, 0
  for _, each in ipairs(job.shares) do
    local model, share = each[1], each[2]
    own_ms = own_ms + share * tonumber(redis.call('HGET', own_load, model) or 0)
    for planned_class in string.gmatch(planned.nodes and 'interactive standard bulk' or '', '%S+') do
      local ms = share * (planned[planned_class .. ' ' .. model] or 0)
      own_ms = own_ms + ms
      if string.find(classes, planned_class, 1, true) then planned_ms = planned_ms + ms end
    end
  end
  live = live + (planned.nodes or 0)
  waiting = waiting + (planned.nodes or 0)
  local jobs = job.nodes and #job.nodes or 1
  if job.max_jobs and live + jobs > job.max_jobs then return { 'too-many', live, 'live' } end
  if job.max_queued and waiting + jobs > job.max_queued then return { 'too-many', waiting, 'queued' } end
  -- One job may cost more than the limit.
  if job.max_own_ms and own_ms > 0 and own_ms + cost > job.max_own_ms then return { 'own-backlog', math.ceil(own_ms) } end

  local fair, tags, prioritized, load = group_keys(prefix, job.queue, class)
  local start, score, ahead_ms = fair_place(fair, tags, prioritized, load, first, classes, tenant, cost)
  -- Of the groups, those of the one with the fewest.
  local wait, workers = 0, nil
  for _, group in ipairs(job.groups) do
    local ms = ahead_ms
    if group.queue ~= job.queue then
      local keys = { group_keys(prefix, group.queue, class) }
      ms = select(3, fair_place(keys[1], keys[2], keys[3], keys[4], first, classes, tenant, group.cost))
    end
    wait = math.max(wait, wait_ms(ms, group.cost, group.elsewhere_ms, group.elsewhere_groups, group.workers))
    workers = math.min(workers or group.workers, group.workers)
  end
  -- Planned nodes of the tenant will wait for the same workers; those of other tenants take turns with its jobs.
  wait = wait + ((job.between_ms or 0) + planned_ms) / math.max(1, workers or 1)
  if job.max_wait_ms and wait > job.max_wait_ms then return { 'overloaded', math.ceil(wait) } end

  if job.max_groups and #job.groups > 0 then
    local own_groups, added = prefix .. ':groups-of:' .. tenant, {}
    for _, group in ipairs(job.groups) do
      if redis.call('ZADD', own_groups, now, group.queue) == 1 then added[#added + 1] = group.queue end
    end
    if #added > 0 then
      redis.call('ZREMRANGEBYSCORE', own_groups, '-inf', now - job.groups_within_ms)
      local groups = redis.call('ZCARD', own_groups)
      if groups > job.max_groups then
        redis.call('ZREM', own_groups, unpack(added))
        return { 'too-many', groups - #added, 'groups' }
      end
    end
    redis.call('PEXPIRE', own_groups, job.groups_within_ms)
  end

  local last = class .. ' :last'
  local virtual_time = tonumber(redis.call('HGET', fair, class) or 0)
  local is_idle = math.abs(now - tonumber(redis.call('HGET', fair, last) or 0)) > SETTLE_MS
  if is_idle and redis.call('ZCOUNT', prioritized, first, first + CLASS_SPAN - 1) == 0 then
    -- No job of the class waits, and none is on its way into the queue: earlier use by tenants no longer counts.
    local latest = tonumber(redis.call('ZRANGE', tags, -1, -1, 'WITHSCORES')[2] or 0)
    virtual_time = math.max(virtual_time, latest)
    redis.call('HSET', fair, class, virtual_time)
    start = virtual_time
    score = first + math.floor(start + lag_ms(cost))
  end
  -- A tag that is not past the virtual time has no effect. An admission removes a few of them and adds at most one.
  local passed = redis.call('ZRANGEBYSCORE', tags, '-inf', virtual_time, 'LIMIT', 0, TAGS_REMOVED)
  if #passed > 0 then redis.call('ZREM', tags, unpack(passed)) end
  redis.call('ZADD', tags, start + math.max(1, cost) / job.weight, tenant)
  redis.call('HSET', fair, last, now)

  redis.call('ZADD', own_live, 0, id)
  redis.call('ZADD', all_live, now, id)
  local reservation = tenant
  if idempotency then
    reservation = tenant .. ' ' .. idempotency_key
    redis.call('SET', idempotency_key, id .. ' ' .. idempotency.fingerprint, 'PX', idempotency.kept_ms)
  end
  redis.call('HSET', reserved, id, reservation)
  if job.nodes then plan_nodes(prefix, tenant, id, class, job.nodes) end
  local used_now = full and used + cost or 0
  local full_in_ms = full and set_budget(budget_key, used_now, full, now) or 0
  return { 'admitted', score, string.format('%.17g', start), id, now, math.ceil(used_now), full_in_ms }
end

-- Decides whether a job may be stored, and where in line, before anything is stored; one round trip. fair-wait.lua, budget.lua and
-- records/planned.lua are put before this text.
--
-- admit(prefix, job, now, is_stored): all keys begin with `prefix`. `now` is by Redis's clock, ms. `is_stored`: the script that calls it
-- also stores a job that is admitted under its own id, so that it needs no reservation. `job` is read from JSON, in which what does not apply
-- is left out:
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
--   is_later      the job enters its queue at a later time (release.lua): it gets no place, and its wait does not count
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

-- Whether the job was admitted a moment ago. After a step back of the clock, its admission counts as made now.
local function is_recent(prefix, id, now)
  local all_live = prefix .. ':live'
  local at = tonumber(redis.call('ZSCORE', all_live, id) or 0)
  if at > now then redis.call('ZADD', all_live, now, id) end
  return now - at <= SETTLE_MS
end

-- The reply when an earlier request used this idempotency key. Nil for a new key, and nil with an id when this request takes over the id of
-- the earlier one, whose process died before storing its job.
local function earlier_by_key(prefix, idempotency, now)
  local key = prefix .. ':idem:' .. idempotency.hash
  local known = redis.call('GET', key)
  if not known then return nil end
  local id, fingerprint = string.match(known, '^(%S+) (%S+)$')
  if fingerprint ~= idempotency.fingerprint then return { 'mismatch' } end
  if redis.call('HEXISTS', prefix .. ':reserved', id) == 0 then return { 'replay', id } end
  if is_recent(prefix, id, now) then return { 'pending', id } end
  redis.call('DEL', key)
  return nil, id
end

-- The reply when this request adopts the job of an equal one; else nil.
local function adopted_job(prefix, duplicate, now)
  local unanswered, max_held = prefix .. ':unanswered:' .. duplicate.hash, duplicate.max_held
  if redis.call('EXISTS', unanswered) == 0 then return nil end
  redis.call('ZREMRANGEBYSCORE', unanswered, '-inf', '(' .. now)
  local oldest = redis.call('ZRANGE', unanswered, 0, 0, 'WITHSCORES')
  local is_adopted = oldest[2] ~= 'inf' or duplicate.is_retry or (max_held and redis.call('ZCARD', unanswered) >= max_held)
  if not oldest[1] or not is_adopted then return nil end
  redis.call('ZREM', unanswered, oldest[1])
  return { 'adopted', oldest[1] }
end

-- The reply when an earlier request made the job or is about to; else nil, and the id under which the job is admitted.
local function earlier_job(prefix, job, now)
  local id, reply, taken_over = job.id, nil, nil
  if job.idempotency then
    reply, taken_over = earlier_by_key(prefix, job.idempotency, now)
    id = taken_over or id
  elseif job.duplicate then
    reply = adopted_job(prefix, job.duplicate, now)
  end
  if reply then return reply end
  -- Two processes can start the same node of a workflow. The second one must not be charged.
  if redis.call('EXISTS', prefix .. ':record:' .. job.id) == 1 then return { 'replay', id } end
  if redis.call('HEXISTS', prefix .. ':reserved', id) == 1 then
    if is_recent(prefix, id, now) then return { 'pending', id } end
    redis.call('ZREM', prefix .. ':live:' .. job.tenant, id)
    redis.call('ZREM', prefix .. ':live', id)
    redis.call('HDEL', prefix .. ':reserved', id)
    unplan(prefix, job.tenant, id)
  end
  return nil, id
end

-- What the tenant has. jobs: unfinished ones; waiting: those of them that wait; ms: engine ms that wait for the workers of this job;
-- planned_ms: of these, what planned nodes of this class and of more urgent ones have. Planned nodes count as waiting jobs.
local function backlog_of(prefix, tenant, classes, shares)
  local own_load, own_plan = prefix .. ':load-of:' .. tenant, prefix .. ':planned-of:' .. tenant
  local jobs = redis.call('ZCARD', prefix .. ':live:' .. tenant)
  local waiting = jobs - redis.call('SCARD', prefix .. ':running:' .. tenant)
  -- Sums of floats keep a rest: without a waiting job there is no load, and without a job no plan.
  if waiting <= 0 then redis.call('DEL', own_load) end
  if jobs == 0 then redis.call('DEL', own_plan) end
  local planned = {}
  local sums = redis.call('HGETALL', own_plan)
  for i = 1, #sums, 2 do planned[sums[i]] = tonumber(sums[i + 1]) end
  local all_ms, planned_ms = 0, 0
  for _, each in ipairs(shares) do
    local model, share = each[1], each[2]
    all_ms = all_ms + share * tonumber(redis.call('HGET', own_load, model) or 0)
    for class in string.gmatch(planned.nodes and 'interactive standard bulk' or '', '%S+') do
      local ms = share * (planned[class .. ' ' .. model] or 0)
      all_ms = all_ms + ms
      if string.find(classes, class, 1, true) then planned_ms = planned_ms + ms end
    end
  end
  local nodes = planned.nodes or 0
  return { jobs = jobs + nodes, waiting = waiting + nodes, ms = all_ms, planned_ms = planned_ms }
end

-- The reply when the tenant has too much already; else nil.
local function above_limits(job, backlog)
  local jobs = job.nodes and #job.nodes or 1
  if job.max_jobs and backlog.jobs + jobs > job.max_jobs then return { 'too-many', backlog.jobs, 'live' } end
  if job.max_queued and backlog.waiting + jobs > job.max_queued then return { 'too-many', backlog.waiting, 'queued' } end
  -- One job may cost more than the limit.
  if job.max_own_ms and backlog.ms > 0 and backlog.ms + job.cost > job.max_own_ms then
    return { 'own-backlog', math.ceil(backlog.ms) }
  end
end

-- How long the job would wait, ms. `ahead_ms` runs before it in its own queue.
local function expected_wait_ms(prefix, job, ahead_ms, planned_ms)
  -- Of the groups, those of the one with the fewest.
  local wait, workers = 0, nil
  for _, group in ipairs(job.groups) do
    local ms = ahead_ms
    if group.queue ~= job.queue then ms = select(3, fair_place(prefix, job, group.queue, group.cost)) end
    wait = math.max(wait, wait_ms(ms, group.cost, group.elsewhere_ms, group.elsewhere_groups, group.workers))
    workers = math.min(workers or group.workers, group.workers)
  end
  -- Planned nodes of the tenant will wait for the same workers; those of other tenants take turns with its jobs.
  return wait + ((job.between_ms or 0) + planned_ms) / math.max(1, workers or 1)
end

-- Notes that the tenant uses the groups. The reply when these are too many; then the new ones are not noted. Else nil.
local function use_groups(prefix, job, now)
  if not job.max_groups or #job.groups == 0 then return nil end
  local own_groups, added = prefix .. ':groups-of:' .. job.tenant, {}
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

-- Takes the place that fair_place gave: the tenant's next job starts where this one ends. Returns the start tag and the score, which are
-- others when the class is idle.
local function take_place(prefix, job, class, start, score, virtual_time, last_at, now)
  local fair, first = prefix .. ':fair:' .. job.queue, job.first_score
  local tags = fair .. ':' .. class
  local is_idle = math.abs(now - last_at) > SETTLE_MS
  if is_idle and redis.call('ZCOUNT', prefix .. ':' .. job.queue .. ':prioritized', first, first + CLASS_SPAN - 1) == 0 then
    -- No job of the class waits, and none is on its way into the queue: earlier use by tenants no longer counts.
    local latest = tonumber(redis.call('ZRANGE', tags, -1, -1, 'WITHSCORES')[2] or 0)
    virtual_time = math.max(virtual_time, latest)
    redis.call('HSET', fair, class, virtual_time)
    start = virtual_time
    score = first + math.floor(start + lag_ms(job.cost))
  end
  -- A tag that is not past the virtual time has no effect. An admission removes a few of them and adds at most one.
  local passed = redis.call('ZRANGEBYSCORE', tags, '-inf', virtual_time, 'LIMIT', 0, TAGS_REMOVED)
  if #passed > 0 then redis.call('ZREM', tags, unpack(passed)) end
  redis.call('ZADD', tags, start + math.max(1, job.cost) / job.weight, job.tenant)
  redis.call('HSET', fair, class .. ' :last', now)
  return start, score
end

-- Until its record is written, the job counts among those of its tenant, and its idempotency key leads to it.
local function reserve(prefix, job, id, class, now, is_stored)
  local reservation, idempotency = job.tenant, job.idempotency
  if idempotency then
    local key = prefix .. ':idem:' .. idempotency.hash
    reservation = reservation .. ' ' .. key
    redis.call('SET', key, id .. ' ' .. idempotency.fingerprint, 'PX', idempotency.kept_ms)
  end
  if is_stored then return end
  redis.call('ZADD', prefix .. ':live:' .. job.tenant, 0, id)
  redis.call('ZADD', prefix .. ':live', now, id)
  redis.call('HSET', prefix .. ':reserved', id, reservation)
  if not job.nodes then return end
  -- The nodes of a workflow that starts later count as jobs of their tenant, and nothing of them waits.
  for _, each in ipairs(job.nodes) do each.cost = job.is_later and 0 or each.cost end
  plan_nodes(prefix, job.tenant, id, class, job.nodes)
end

local function admit(prefix, job, now, is_stored)
  local class = string.match(job.classes, '^%S+')
  local reply, id = earlier_job(prefix, job, now)
  if reply then return reply end

  local budget_key = job.budget and prefix .. ':budget:' .. job.budget.key
  local full = job.budget and job.budget.full_ms
  local used = full and budget_used(budget_key, full, now)
  if full and used >= full then return { 'spent', math.ceil((used - full) * BUDGET_WINDOW_MS / full) + 1 } end

  local backlog = backlog_of(prefix, job.tenant, job.classes, job.shares)
  reply = above_limits(job, backlog)
  if reply then return reply end

  local start, score, ahead_ms, virtual_time, last_at = 0, 0, nil, nil, nil
  if not job.is_later then
    start, score, ahead_ms, virtual_time, last_at = fair_place(prefix, job, job.queue, job.cost)
    local wait = expected_wait_ms(prefix, job, ahead_ms, backlog.planned_ms)
    if job.max_wait_ms and wait > job.max_wait_ms then return { 'overloaded', math.ceil(wait) } end
  end

  reply = use_groups(prefix, job, now)
  if reply then return reply end

  if not job.is_later then
    start, score = take_place(prefix, job, class, start, score, virtual_time, last_at, now)
  end
  reserve(prefix, job, id, class, now, is_stored and id == job.id)
  local used_now = full and used + job.cost or 0
  local full_in_ms = full and set_budget(budget_key, used_now, full, now) or 0
  return { 'admitted', score, string.format('%.17g', start), id, now, math.ceil(used_now), full_in_ms }
end

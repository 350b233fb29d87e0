-- Decides whether a job may be stored, and where in line, before anything is stored; one round trip.
--
-- KEYS[1]  <prefix>:live:<tenant>   the tenant's unfinished jobs
-- KEYS[2]  <prefix>:load:<queue>    estimated engine ms that wait in the group, by priority class
-- KEYS[3]  <prefix>:fair:<queue>    fair queueing: the virtual time of each class
-- KEYS[4]  <prefix>:<queue>:prioritized   BullMQ's waiting jobs, scored class * 2^51 + virtual ms
-- KEYS[5]  <prefix>:idem:<hash>     the idempotency key; only when ARGV[8] is given
-- KEYS[6]  <prefix>:live            all unfinished jobs
-- KEYS[7]  <prefix>:reserved        admitted jobs whose record is not written yet: tenant and idempotency key, by id
-- KEYS[8]  <prefix>:running:<tenant>   the tenant's running jobs
-- KEYS[9]  <prefix>:unanswered:<hash>   jobs of equal requests that got no answer; only when ARGV[15] is given
-- KEYS[10] <prefix>:fair:<queue>:<class>  fair queueing: the start tag of each tenant's next job, where it is past the virtual time
-- KEYS[11] <prefix>:record:<job id>
-- KEYS[12] <prefix>:load-of:<tenant>   estimated engine ms of the tenant's waiting jobs, by model
-- KEYS[13] <prefix>:groups-of:<tenant>   group queues that the tenant used recently; only when ARGV[20] is given
-- KEYS[14] <prefix>:budget:<key>    only when ARGV[21] is given
-- ARGV[1]  job id
-- ARGV[2]  tenant
-- ARGV[3]  class, then the more urgent classes, separated by spaces: 'standard interactive'
-- ARGV[4]  cost, estimated engine ms; of a workflow, of all its nodes
-- ARGV[5]  how many unfinished jobs the tenant may have
-- ARGV[6]  a job that would wait longer than this many ms is refused
-- ARGV[7]  workers that serve the group; of a workflow, that of its groups with the fewest
-- ARGV[8]  fingerprint of the request if it has an idempotency key, else ''
-- ARGV[9]  how long an idempotency key is kept, ms
-- ARGV[10] smallest score of the class, ARGV[11] how many other groups ARGV[14] counts, ARGV[12] weight of the tenant
-- ARGV[13] how many of the tenant's jobs may wait
-- ARGV[14] estimated engine ms that wait in other groups of these workers
-- ARGV[15] '': the request adopts no job; 'unanswered': the job of an equal request that got no answer; 'held': also that of an
--          equal request that still waits for its answer
-- ARGV[16] how many equal requests may wait for their answers; the next one adopts the job of the oldest
-- ARGV[17] engine ms of the tenant that may wait for the workers of the group
-- ARGV[18] how many group queues the tenant may use within ARGV[19] ms; ARGV[20] those of this job, separated by spaces, '' without
--          such a limit
-- ARGV[21] engine ms of the key's budget per minute, '' for a key without one
-- ARGV[22] of a workflow, JSON {nodes, groups, between_ms}: its nodes as in records/planned.lua; of each of its groups queue, cost, workers,
--          elsewhere_ms and elsewhere_groups; how long its nodes may wait for each other, engine ms. Else ''
-- ARGV[23] <prefix>, with which the keys of these groups and of planned nodes begin
-- ARGV[24] and following: the models that these workers serve, each with the share of its waiting jobs that they will run
--
-- Returns {code, ...}:
--   {'admitted', score, start tag, job id, now, used, ms}   the job is reserved in live:<tenant>, and the idempotency key is bound to its
--                                id: ARGV[1], or the id of an earlier request with this key whose process died before storing it. The
--                                budget is charged; of it, engine ms in use, and the time until it is full again
--   {'replay', job id}           same id, or same key and request; the job is stored
--   {'pending', job id}          same id, or same key and request; admitted, not stored yet
--   {'mismatch'}                 the key was used for another request
--   {'adopted', job id}          the job of an equal request that got no answer
--   {'spent', ms}                the budget is used up; some of it is there after this time
--   {'too-many', count, 'live', 'queued' or 'groups'}   the tenant has so many, and may not have this job as well
--   {'own-backlog', ms}          the tenant has this much waiting, and may not have this job as well
--   {'overloaded', ms}           the job would wait this long, by the place that fair queueing gives it
--
-- fair-wait.lua, budget.lua and records/planned.lua are put before this text when it is loaded. What a replay gets is found before
-- anything is charged.

local id, tenant, classes, cost = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local prefix, first = ARGV[23], tonumber(ARGV[10])
local class = string.match(classes, '^%S+')
local workers = math.max(1, tonumber(ARGV[7]))
local workflow = ARGV[22] ~= '' and cjson.decode(ARGV[22])
-- An admitted job is stored at once. A reservation older than this belongs to a process that died.
local SETTLE_MS = 1000
local TAGS_REMOVED = 16

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

-- Whether the job was admitted a moment ago. After a step back of the clock, its admission counts as made now.
local function is_recent(job)
  local at = tonumber(redis.call('ZSCORE', KEYS[6], job) or 0)
  if at > now then redis.call('ZADD', KEYS[6], now, job) end
  return now - at <= SETTLE_MS
end

if ARGV[8] ~= '' then
  local known = redis.call('GET', KEYS[5])
  if known then
    local job, fingerprint = string.match(known, '^(%S+) (%S+)$')
    if fingerprint ~= ARGV[8] then return { 'mismatch' } end
    if redis.call('HEXISTS', KEYS[7], job) == 0 then return { 'replay', job } end
    if is_recent(job) then return { 'pending', job } end
    -- The process that reserved the job died before storing it: this request takes over its id.
    id = job
    redis.call('DEL', KEYS[5])
  end
elseif ARGV[15] ~= '' then
  redis.call('ZREMRANGEBYSCORE', KEYS[9], '-inf', '(' .. now)
  local oldest = redis.call('ZRANGE', KEYS[9], 0, 0, 'WITHSCORES')
  if oldest[1] and (oldest[2] ~= 'inf' or ARGV[15] == 'held' or redis.call('ZCARD', KEYS[9]) >= tonumber(ARGV[16])) then
    redis.call('ZREM', KEYS[9], oldest[1])
    return { 'adopted', oldest[1] }
  end
end

-- Two processes can start the same node of a workflow. The second one must not be charged.
if redis.call('EXISTS', KEYS[11]) == 1 then return { 'replay', id } end
if redis.call('HEXISTS', KEYS[7], id) == 1 then
  if is_recent(id) then return { 'pending', id } end
  redis.call('ZREM', KEYS[1], id)
  redis.call('ZREM', KEYS[6], id)
  redis.call('HDEL', KEYS[7], id)
  unplan(prefix, tenant, id)
end

local full = tonumber(ARGV[21])
local used = full and budget_used(KEYS[14], full, now)
if full and used >= full then return { 'spent', math.ceil((used - full) * BUDGET_WINDOW_MS / full) + 1 } end

-- Sums of floats keep a rest: without a waiting job there is no load, and without a job no plan.
local live = redis.call('ZCARD', KEYS[1])
local waiting = live - redis.call('SCARD', KEYS[8])
if waiting <= 0 then redis.call('DEL', KEYS[12]) end
if live == 0 then redis.call('DEL', prefix .. ':planned-of:' .. tenant) end
local planned = {}
local sums = redis.call('HGETALL', prefix .. ':planned-of:' .. tenant)
for i = 1, #sums, 2 do planned[sums[i]] = tonumber(sums[i + 1]) end
-- Engine ms of the tenant that wait for these workers, and of them those of planned nodes of this class and of more urgent ones.
local own_ms, planned_ms = 0, 0
for i = 24, #ARGV, 2 do
  local model, share = ARGV[i], tonumber(ARGV[i + 1])
  own_ms = own_ms + share * tonumber(redis.call('HGET', KEYS[12], model) or 0)
  for each in string.gmatch('interactive standard bulk', '%S+') do
    local ms = share * (planned[each .. ' ' .. model] or 0)
    own_ms = own_ms + ms
    if string.find(classes, each, 1, true) then planned_ms = planned_ms + ms end
  end
end
live = live + (planned.nodes or 0)
waiting = waiting + (planned.nodes or 0)
local jobs = workflow and #workflow.nodes or 1
if live + jobs > tonumber(ARGV[5]) then return { 'too-many', live, 'live' } end
if waiting + jobs > tonumber(ARGV[13]) then return { 'too-many', waiting, 'queued' } end
-- One job may cost more than the limit.
if own_ms > 0 and own_ms + cost > tonumber(ARGV[17]) then return { 'own-backlog', math.ceil(own_ms) } end

local start, score, ahead_ms = fair_place(KEYS[3], KEYS[10], KEYS[4], KEYS[2], first, classes, tenant, cost)
local wait = 0
if workflow then
  for _, group in ipairs(workflow.groups) do
    local queue, fair = prefix .. ':' .. group.queue, prefix .. ':fair:' .. group.queue
    local _, _, ms = fair_place(fair, fair .. ':' .. class, queue .. ':prioritized', prefix .. ':load:' .. group.queue, first, classes,
      tenant, group.cost)
    wait = math.max(wait, wait_ms(ms, group.cost, group.elsewhere_ms, group.elsewhere_groups, group.workers))
  end
  wait = wait + workflow.between_ms / workers
else
  wait = wait_ms(ahead_ms, cost, tonumber(ARGV[14]), tonumber(ARGV[11]), workers)
end
-- Planned nodes of the tenant will wait for the same workers; those of other tenants take turns with its jobs.
wait = wait + planned_ms / workers
if wait > tonumber(ARGV[6]) then return { 'overloaded', math.ceil(wait) } end

if ARGV[20] ~= '' then
  local added = {}
  for group in string.gmatch(ARGV[20], '%S+') do
    if redis.call('ZADD', KEYS[13], now, group) == 1 then added[#added + 1] = group end
  end
  if #added > 0 then
    redis.call('ZREMRANGEBYSCORE', KEYS[13], '-inf', now - tonumber(ARGV[19]))
    local groups = redis.call('ZCARD', KEYS[13])
    if groups > tonumber(ARGV[18]) then
      redis.call('ZREM', KEYS[13], unpack(added))
      return { 'too-many', groups - #added, 'groups' }
    end
  end
  redis.call('PEXPIRE', KEYS[13], ARGV[19])
end

local virtual_time = tonumber(redis.call('HGET', KEYS[3], class) or 0)
local last = class .. ' :last'
local is_idle = math.abs(now - tonumber(redis.call('HGET', KEYS[3], last) or 0)) > SETTLE_MS
if is_idle and redis.call('ZCOUNT', KEYS[4], first, first + CLASS_SPAN - 1) == 0 then
  -- No job of the class waits, and none is on its way into the queue: earlier use by tenants no longer counts.
  local latest = tonumber(redis.call('ZRANGE', KEYS[10], -1, -1, 'WITHSCORES')[2] or 0)
  virtual_time = math.max(virtual_time, latest)
  redis.call('HSET', KEYS[3], class, virtual_time)
  start = virtual_time
  score = first + math.floor(start + lag_ms(cost))
end
-- A tag that is not past the virtual time has no effect. An admission removes a few of them and adds at most one.
local passed = redis.call('ZRANGEBYSCORE', KEYS[10], '-inf', virtual_time, 'LIMIT', 0, TAGS_REMOVED)
if #passed > 0 then redis.call('ZREM', KEYS[10], unpack(passed)) end
redis.call('ZADD', KEYS[10], start + math.max(1, cost) / tonumber(ARGV[12]), tenant)
redis.call('HSET', KEYS[3], last, now)

redis.call('ZADD', KEYS[1], 0, id)
redis.call('ZADD', KEYS[6], now, id)
local reservation = tenant
if ARGV[8] ~= '' then
  reservation = tenant .. ' ' .. KEYS[5]
  redis.call('SET', KEYS[5], id .. ' ' .. ARGV[8], 'PX', ARGV[9])
end
redis.call('HSET', KEYS[7], id, reservation)
if workflow then plan_nodes(prefix, tenant, id, class, workflow.nodes) end
local used_now = full and used + cost or 0
local full_in_ms = full and set_budget(KEYS[14], used_now, full, now) or 0
return { 'admitted', score, string.format('%.17g', start), id, now, math.ceil(used_now), full_in_ms }

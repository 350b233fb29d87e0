-- Decides whether a job may be stored, and where in line, before anything is stored; one round trip.
--
-- KEYS[1]  <prefix>:live:<tenant>   the tenant's unfinished jobs
-- KEYS[2]  <prefix>:load:<queue>    estimated engine ms that wait in the group, by priority class
-- KEYS[3]  <prefix>:fair:<queue>    fair queueing: per class its virtual time, per class and tenant the next start tag
-- KEYS[4]  <prefix>:<queue>:prioritized   BullMQ's waiting jobs, scored rank * 2^32 + arrival
-- KEYS[5]  <prefix>:idem:<hash>     the idempotency key; only when ARGV[8] is given
-- KEYS[6]  <prefix>:live            all unfinished jobs
-- KEYS[7]  <prefix>:reserved        admitted jobs whose record is not written yet: tenant and idempotency key, by id
-- KEYS[8]  <prefix>:running:<tenant>   the tenant's running jobs
-- KEYS[9]  <prefix>:unanswered:<hash>   jobs of equal requests that got no answer; only when ARGV[15] is given
-- ARGV[1]  job id
-- ARGV[2]  tenant
-- ARGV[3]  class, then the more urgent classes, separated by spaces: 'standard interactive'
-- ARGV[4]  cost, estimated engine ms
-- ARGV[5]  how many unfinished jobs the tenant may have
-- ARGV[6]  a job that would wait longer than this many ms is refused
-- ARGV[7]  workers that serve the group
-- ARGV[8]  fingerprint of the request if it has an idempotency key, else ''
-- ARGV[9]  how long an idempotency key is kept, ms
-- ARGV[10] first rank of the class, ARGV[11] ranks in a class, ARGV[12] weight of the tenant
-- ARGV[13] how many of the tenant's jobs may wait
-- ARGV[14] estimated engine ms of other groups that these workers run first
-- ARGV[15] '': the request adopts no job; 'unanswered': the job of an equal request that got no answer; 'held': also that of an
--          equal request that still waits for its answer
-- ARGV[16] how many equal requests may wait for their answers; the next one adopts the job of the oldest
--
-- Returns {code, ...}:
--   {'admitted', rank, start tag, job id, now}   the job is reserved in live:<tenant>, and the idempotency key is bound to its id:
--                                ARGV[1], or the id of an earlier request with this key whose process died before storing it
--   {'replay', job id}           same key and request; the job is stored
--   {'pending', job id}          same key and request; admitted, not stored yet
--   {'mismatch'}                 the key was used for another request
--   {'adopted', job id}          the job of an equal request that got no answer
--   {'too-many', jobs, 'live' or 'queued'}   the tenant has reached this limit
--   {'overloaded', ms}           the job would wait this long

local id, tenant, classes, cost = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local RANK_UNIT = 4294967296
-- One rank stands for this much engine time. With a coarser unit short jobs would get equal ranks.
local MS_PER_RANK = 10
-- How strongly short jobs go first: a job's rank is its start tag plus this many times its own cost. So shorter jobs overtake
-- a long one only if they arrive within that much engine time.
local COST_FACTOR = 8
-- An admitted job is stored at once. A reservation older than this belongs to a process that died.
local SETTLE_MS = 1000

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

if ARGV[8] ~= '' then
  local known = redis.call('GET', KEYS[5])
  if known then
    local job, fingerprint = string.match(known, '^(%S+) (%S+)$')
    if fingerprint ~= ARGV[8] then return { 'mismatch' } end
    if redis.call('HEXISTS', KEYS[7], job) == 0 then return { 'replay', job } end
    if now - tonumber(redis.call('ZSCORE', KEYS[6], job) or 0) <= SETTLE_MS then return { 'pending', job } end
    -- The process that reserved the job died before storing it: this request takes over its id.
    id = job
    redis.call('ZREM', KEYS[1], id)
    redis.call('ZREM', KEYS[6], id)
    redis.call('HDEL', KEYS[7], id)
    redis.call('DEL', KEYS[5])
  end
elseif ARGV[15] ~= '' then
  redis.call('ZREMRANGEBYSCORE', KEYS[9], '-inf', '(' .. now)
  local first = redis.call('ZRANGE', KEYS[9], 0, 0, 'WITHSCORES')
  if first[1] and (first[2] ~= 'inf' or ARGV[15] == 'held' or redis.call('ZCARD', KEYS[9]) >= tonumber(ARGV[16])) then
    redis.call('ZREM', KEYS[9], first[1])
    return { 'adopted', first[1] }
  end
end

local live = redis.call('ZCARD', KEYS[1])
if live >= tonumber(ARGV[5]) then return { 'too-many', live, 'live' } end
local queued = live - redis.call('SCARD', KEYS[8])
if queued >= tonumber(ARGV[13]) then return { 'too-many', queued, 'queued' } end

local ahead = tonumber(ARGV[14])
for class in string.gmatch(classes, '%S+') do
  ahead = ahead + math.max(0, tonumber(redis.call('HGET', KEYS[2], class) or 0))
end
local wait = ahead / math.max(1, tonumber(ARGV[7]))
if wait > tonumber(ARGV[6]) then return { 'overloaded', math.ceil(wait) } end

-- Start-time fair queueing (Goyal, Vin, Cheng 1996) inside the class. A tenant's next job starts where its last one ended, but
-- never before the virtual time of the class: an idle tenant saves up nothing, and the jobs of a tenant that floods the queue
-- wait behind each other.
local class = string.match(classes, '^%S+')
local first, width = tonumber(ARGV[10]), tonumber(ARGV[11])
local from, to = first * RANK_UNIT, (first + width) * RANK_UNIT - 1
local tenant_field = class .. ' ' .. tenant

local function fields_of_class()
  local fields = {}
  for _, field in ipairs(redis.call('HKEYS', KEYS[3])) do
    if field == class or string.sub(field, 1, #class + 1) == class .. ' ' then fields[#fields + 1] = field end
  end
  return fields
end

local last = class .. ' :last'
local virtual_time = tonumber(redis.call('HGET', KEYS[3], class) or 0)
local idle = now - tonumber(redis.call('HGET', KEYS[3], last) or 0) > SETTLE_MS
if idle and redis.call('ZCOUNT', KEYS[4], from, to) == 0 then
  -- No job of the class waits, and none is on its way into the queue: virtual time starts at 0 again.
  local fields = fields_of_class()
  if #fields > 0 then redis.call('HDEL', KEYS[3], unpack(fields)) end
  virtual_time = 0
elseif virtual_time > width / 2 then
  -- The ranks of the class would run out, because it has not been empty for long: shift all its jobs down by the same amount.
  local waiting = redis.call('ZRANGEBYSCORE', KEYS[4], from, to, 'WITHSCORES')
  local shift = virtual_time * RANK_UNIT
  for i = 1, #waiting, 2 do
    redis.call('ZADD', KEYS[4], math.max(from, tonumber(waiting[i + 1]) - shift), waiting[i])
  end
  for _, field in ipairs(fields_of_class()) do
    if field ~= last then redis.call('HINCRBYFLOAT', KEYS[3], field, -virtual_time) end
  end
  virtual_time = 0
end

local ranks = math.max(1, cost / MS_PER_RANK)
local start = math.max(virtual_time, tonumber(redis.call('HGET', KEYS[3], tenant_field) or 0))
redis.call('HSET', KEYS[3], tenant_field, start + ranks / tonumber(ARGV[12]), last, now)
local rank = first + math.min(width - 1, math.floor(start + COST_FACTOR * ranks))

redis.call('ZADD', KEYS[1], now, id)
redis.call('ZADD', KEYS[6], now, id)
local reservation = tenant
if ARGV[8] ~= '' then
  reservation = tenant .. ' ' .. KEYS[5]
  redis.call('SET', KEYS[5], id .. ' ' .. ARGV[8], 'PX', ARGV[9])
end
redis.call('HSET', KEYS[7], id, reservation)
return { 'admitted', rank, tostring(start), id, now }

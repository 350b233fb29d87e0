-- Whether a job may be stored, and where in line: decided before anything is stored, in one round trip.
--
-- KEYS[1]  <prefix>:live:<tenant>   the tenant's jobs without an end
-- KEYS[2]  <prefix>:load:<queue>    estimated engine ms that wait in the group, by priority class
-- KEYS[3]  <prefix>:fair:<queue>    fair queueing: per class its turn, per class and tenant where it stands
-- KEYS[4]  <prefix>:<queue>:prioritized   BullMQ's waiting jobs, scored rank * 2^32 + arrival
-- KEYS[5]  <prefix>:idem:<hash>     the idempotency key; only when ARGV[8] is given
-- KEYS[6]  <prefix>:live            all jobs without an end
-- KEYS[7]  <prefix>:reserved        admitted jobs whose record is not written yet: tenant and idempotency key, by id
-- KEYS[8]  <prefix>:running:<tenant>   the tenant's jobs that run
-- KEYS[9]  <prefix>:twins:<hash>    jobs of requests like this one that got no answer; only when ARGV[15] is given
-- ARGV[1]  job id
-- ARGV[2]  tenant
-- ARGV[3]  class, then the classes that go before it, separated by spaces: 'standard interactive'
-- ARGV[4]  cost, estimated engine ms
-- ARGV[5]  jobs the tenant may have without an end
-- ARGV[6]  ms of waiting beyond which the job is refused
-- ARGV[7]  workers that serve the group
-- ARGV[8]  fingerprint of the request when the caller sent an idempotency key, else ''
-- ARGV[9]  how long an idempotency key is kept, ms
-- ARGV[10] first rank of the class, ARGV[11] ranks in a class, ARGV[12] weight of the tenant
-- ARGV[13] of its jobs, how many may wait
-- ARGV[14] estimated engine ms of other groups that these workers do first
-- ARGV[15] '': the request adopts no job; 'lost': one whose request lost its answer; 'held': also one whose request still waits
-- ARGV[16] how many requests like this one may wait for their answers; the next one joins the oldest of them
--
-- Returns {code, ...}:
--   {'admitted', rank, start tag, job id, now}   and the job is reserved in live:<tenant>, the key bound to its id, which is
--                                ARGV[1], or that of an earlier request with this key whose maker died before it was stored
--   {'replay', job id}           the key was used for this very request, and its job was stored
--   {'pending', job id}          so it was, and its job is on the way
--   {'mismatch'}                 the key was used for another request
--   {'adopted', job id}          a job for this very request is there, and nobody had an answer for it
--   {'too-many', jobs, 'live' or 'queued'}   the tenant has its share
--   {'overloaded', ms}           it would wait so long

local id, tenant, classes, cost = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local RANK_UNIT = 4294967296
-- One rank is this much engine time; finer costs nothing, coarser would tie short jobs.
local MS_PER_RANK = 10
-- How far ahead of long jobs a short one gets: a job's place is its tenant's turn plus so many times its own cost, so a
-- long job is overtaken by shorter ones that come at most that much later, and by none after.
local PATIENCE = 8
-- An admitted job is stored at once, if ever; after this long without one, nobody is on the way.
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
    -- Whoever had it admitted died before it was stored: this request takes its place, and its id.
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

-- Start-time fair queueing (Goyal, Vin, Cheng 1996) inside the class. A tenant's next job starts where its last one ended,
-- but never before the class's turn: who was idle gains nothing from it, who floods stands in line behind itself.
local class = string.match(classes, '^%S+')
local first, width = tonumber(ARGV[10]), tonumber(ARGV[11])
local from, to = first * RANK_UNIT, (first + width) * RANK_UNIT - 1
local place = class .. ' ' .. tenant

local function places_of_class()
  local fields = {}
  for _, field in ipairs(redis.call('HKEYS', KEYS[3])) do
    if field == class or string.sub(field, 1, #class + 1) == class .. ' ' then fields[#fields + 1] = field end
  end
  return fields
end

local last = class .. ' :last'
local turn = tonumber(redis.call('HGET', KEYS[3], class) or 0)
local idle = now - tonumber(redis.call('HGET', KEYS[3], last) or 0) > SETTLE_MS
if idle and redis.call('ZCOUNT', KEYS[4], from, to) == 0 then
  -- Nobody waits, and nobody who was admitted is still on the way: the line starts anew.
  local fields = places_of_class()
  if #fields > 0 then redis.call('HDEL', KEYS[3], unpack(fields)) end
  turn = 0
elseif turn > width / 2 then
  -- Never empty for so long that the ranks of the class run out: everybody moves up together.
  local waiting = redis.call('ZRANGEBYSCORE', KEYS[4], from, to, 'WITHSCORES')
  local shift = turn * RANK_UNIT
  for i = 1, #waiting, 2 do
    redis.call('ZADD', KEYS[4], math.max(from, tonumber(waiting[i + 1]) - shift), waiting[i])
  end
  for _, field in ipairs(places_of_class()) do
    if field ~= last then redis.call('HINCRBYFLOAT', KEYS[3], field, -turn) end
  end
  turn = 0
end

local ranks = math.max(1, cost / MS_PER_RANK)
local start = math.max(turn, tonumber(redis.call('HGET', KEYS[3], place) or 0))
redis.call('HSET', KEYS[3], place, start + ranks / tonumber(ARGV[12]), last, now)
local rank = first + math.min(width - 1, math.floor(start + PATIENCE * ranks))

redis.call('ZADD', KEYS[1], now, id)
redis.call('ZADD', KEYS[6], now, id)
local reservation = tenant
if ARGV[8] ~= '' then
  reservation = tenant .. ' ' .. KEYS[5]
  redis.call('SET', KEYS[5], id .. ' ' .. ARGV[8], 'PX', ARGV[9])
end
redis.call('HSET', KEYS[7], id, reservation)
return { 'admitted', rank, tostring(start), id, now }

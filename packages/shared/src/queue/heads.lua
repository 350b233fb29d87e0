-- Reads the heads of group queues that have waiting jobs; the worker's intake chooses by them what to claim. One call looks at a bounded
-- number of groups: first at those that are named, then at the next ones of the index, from where the call before ended.
--
-- KEYS[i]   <prefix>:waiting:<model>   the group queues of a model that may have waiting jobs
-- ARGV[1]   <prefix>
-- ARGV[2]   at how many groups to look; all are looked at when there are no more
-- ARGV[3], ARGV[4]   the index to go on in, from 1, and the cursor in it; '1' and '0' at the start
-- ARGV[5]   the index that lacks the first named group, or '0'
-- ARGV[6]   how many tenants get no more jobs of a task and class from this worker; ARGV[7] and following: these, each as
--           '<task> <class> <tenant>', then the named groups
-- Returns {index, cursor, 1 if all groups were looked at, then for each group
-- {queue, waiting, score of the head, ms that the head has waited by Redis's clock, its cost in estimated engine ms or -1,
-- 1 if the head is a job of such a tenant, how many jobs of its class wait, its id if jobs of such tenants are before it in line, or ''}};
-- score 0 for a job that was handed back or recovered: those run first. A group that was paused in BullMQ has no head; when it is resumed,
-- BullMQ sets its marker.

local prefix, limit = ARGV[1], tonumber(ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local full, first_named = {}, 7 + tonumber(ARGV[6])
for i = 7, first_named - 1 do full[ARGV[i]] = true end
local CLASS_SPAN, CLASSES = 2251799813685248, { 'interactive', 'standard', 'bulk' } -- 2^51
-- At how many jobs this search may still look in each class; about 3 us each. The start tags of tenants (admit.lua) would not do: a long
-- job waits while the virtual time passes the tag of its tenant.
local looks_left = { 200, 200, 200 }

-- A field of a job or its record; nil also for a key that is no hash. What is damaged must not keep workers from all other jobs: the claim
-- deals with it.
local function field(key, name)
  local value = redis.pcall('HGET', key, name)
  return type(value) == 'string' and value or nil
end

-- The first job of the line whose tenant may have another one of its class here, else the first of all; its score, whether it may be claimed,
-- how many jobs of its class wait, and its id if it is not the first of all.
local function first_of(queue, line)
  local first = redis.call('ZRANGE', line, 0, 0, 'WITHSCORES')
  -- The name of a queue begins with the task.
  local task = string.match(queue, '^%a+')
  local function is_open(job, class)
    local tenant = field(prefix .. ':record:' .. job, 'tenant') or ''
    return not full[task .. ' ' .. CLASSES[class] .. ' ' .. tenant]
  end
  local function span(class) return (class - 1) * CLASS_SPAN, string.format('(%.17g', class * CLASS_SPAN) end
  local function found(job, score, class, may_claim)
    return job, tonumber(score), may_claim, redis.call('ZCOUNT', line, span(class)), job ~= first[1] and job or ''
  end
  local head_class = math.max(0, math.floor(tonumber(first[2]) / CLASS_SPAN)) + 1
  if next(full) == nil or is_open(first[1], head_class) then return found(first[1], first[2], head_class, true) end
  for class = head_class, #CLASSES do
    local from, to = span(class)
    local jobs = redis.call('ZRANGEBYSCORE', line, from, to, 'WITHSCORES', 'LIMIT', 0, looks_left[class])
    for i = 1, #jobs, 2 do
      looks_left[class] = looks_left[class] - 1
      if is_open(jobs[i], class) then return found(jobs[i], jobs[i + 1], class, true) end
    end
  end
  return found(first[1], first[2], head_class, false)
end

-- The waiting jobs, the id and the score of the head, and whether it may be claimed. Jobs in the wait list go first, taken from its right end.
local function head_of(queue, base)
  local prioritized = redis.call('ZCARD', base .. 'prioritized')
  local handed_back = redis.call('LLEN', base .. 'wait')
  if handed_back > 0 then return handed_back + prioritized, redis.call('LINDEX', base .. 'wait', -1), 0, true, handed_back, '' end
  if prioritized == 0 then return 0 end
  return prioritized, first_of(queue, base .. 'prioritized')
end

local heads, seen, looked = {}, {}, 0
local function has_work(queue)
  if seen[queue] ~= nil then return seen[queue] end
  looked = looked + 1
  local base = prefix .. ':' .. queue .. ':'
  local waiting, id, score, may_claim, of_class, out_of_turn = head_of(queue, base)
  seen[queue] = waiting > 0
  if waiting > 0 and not field(base .. 'meta', 'paused') then
    local added = tonumber(field(base .. id, 'timestamp')) or now
    -- Rounded up, so that no job counts as shorter than it is.
    local cost = math.ceil(tonumber(field(prefix .. ':record:' .. id, 'cost')) or -1)
    heads[#heads + 1] = { queue, waiting, score, math.max(0, now - added), cost, may_claim and 0 or 1, of_class, out_of_turn }
  end
  return waiting > 0
end

for i = first_named, #ARGV do
  if has_work(ARGV[i]) and i == first_named and ARGV[5] ~= '0' then redis.call('SADD', KEYS[tonumber(ARGV[5])], ARGV[i]) end
end

local at, cursor = tonumber(ARGV[3]), ARGV[4]
if at > #KEYS then at, cursor = 1, '0' end
local first_at, first_cursor, rounds = at, cursor, 0
repeat
  -- SSCAN returns a group that is there all the time at least once a round, also while others come and go.
  local page = redis.call('SSCAN', KEYS[at], cursor, 'COUNT', math.max(1, limit - looked))
  for _, queue in ipairs(page[2]) do
    -- Jobs are added before the group is added to the index, so none is on its way.
    if not has_work(queue) then redis.call('SREM', KEYS[at], queue) end
  end
  cursor = page[1]
  if cursor == '0' then at = at + 1 end
  if at > #KEYS then at, rounds = 1, rounds + 1 end
  -- The cursor at the start is not met again when the index has changed its size since.
  local is_whole = (at == first_at and cursor == first_cursor) or rounds == 2
  if is_whole or looked >= limit then return { at, cursor, is_whole and 1 or 0, unpack(heads) } end
until false

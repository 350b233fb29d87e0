-- Reads the heads of group queues that have waiting jobs; the worker's intake chooses by them what to claim. One call looks at a bounded
-- number of groups: first at those that are named, then at the next ones of the index, from where the call before ended.
--
-- KEYS[i]   <prefix>:waiting:<model>   the group queues of a model that may have waiting jobs
-- ARGV[1]   <prefix>
-- ARGV[2]   at how many groups to look; all are looked at when there are no more
-- ARGV[3], ARGV[4]   the index to go on in, from 1, and the cursor in it; '1' and '0' at the start
-- ARGV[5]   the index that lacks the first named group, or '0'
-- ARGV[6]   how many tenants get no more jobs of a task from this worker; ARGV[7] and following: these, each as '<task> <tenant>',
--           then the named groups
-- Returns {index, cursor, 1 if all groups were looked at, then for each group
-- {queue, waiting, score of the head, ms that the head has waited by Redis's clock, its cost in estimated engine ms or -1,
-- 1 if the head is a job of such a tenant, how many jobs of its class wait}};
-- score 0 for a job that was handed back or recovered: those run first.

local prefix, limit = ARGV[1], tonumber(ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local full, first_named = {}, 7 + tonumber(ARGV[6])
for i = 7, first_named - 1 do full[ARGV[i]] = true end
local CLASS_SPAN = 2251799813685248 -- 2^51
-- How many jobs of such tenants this search may still look past; about 3 us each. The start tags of tenants (admit.lua) would not do: a long
-- job waits while the virtual time passes the tag of its tenant.
local looks_left = 500

-- The first job of the line, its score, whether its tenant may have another job here, and how many jobs of its class wait. A claim takes
-- the first job, so jobs of tenants that get none go behind the next job of the class that may be claimed.
local function first_of(queue, line)
  local first = redis.call('ZRANGE', line, 0, 0, 'WITHSCORES')
  local id, score = first[1], tonumber(first[2])
  local class = math.floor(score / CLASS_SPAN)
  local class_end = string.format('(%.17g', (class + 1) * CLASS_SPAN)
  local of_class = redis.call('ZCOUNT', line, '-inf', class_end)
  -- The name of a queue begins with the task.
  local task, record = string.match(queue, '^%a+') .. ' ', prefix .. ':record:'
  local function is_open(job) return not full[task .. (redis.call('HGET', record .. job, 'tenant') or '')] end
  if next(full) == nil or is_open(id) then return id, score, true, of_class end
  local jobs = redis.call('ZRANGEBYSCORE', line, '-inf', class_end, 'WITHSCORES', 'LIMIT', 1, looks_left)
  for i = 1, #jobs, 2 do
    looks_left = looks_left - 1
    if is_open(jobs[i]) then
      local own_score = tonumber(jobs[i + 1])
      redis.call('ZADD', line, 'XX', own_score + 1, id)
      for j = 1, i - 2, 2 do redis.call('ZADD', line, 'XX', own_score + 1, jobs[j]) end
      return jobs[i], own_score, true, of_class
    end
  end
  return id, score, false, of_class
end

-- The waiting jobs, the id and the score of the head, and whether it may be claimed. Jobs in the wait list go first, taken from its right end.
local function head_of(queue, base)
  local prioritized = redis.call('ZCARD', base .. 'prioritized')
  local handed_back = redis.call('LLEN', base .. 'wait')
  if handed_back > 0 then return handed_back + prioritized, redis.call('LINDEX', base .. 'wait', -1), 0, true, handed_back end
  if prioritized == 0 then return 0 end
  return prioritized, first_of(queue, base .. 'prioritized')
end

local heads, seen, looked = {}, {}, 0
local function has_work(queue)
  if seen[queue] ~= nil then return seen[queue] end
  looked = looked + 1
  local base = prefix .. ':' .. queue .. ':'
  local waiting, id, score, may_claim, of_class = head_of(queue, base)
  seen[queue] = waiting > 0
  if waiting > 0 then
    local added = tonumber(redis.call('HGET', base .. id, 'timestamp') or now)
    -- Rounded up, so that no job counts as shorter than it is.
    local cost = math.ceil(tonumber(redis.call('HGET', prefix .. ':record:' .. id, 'cost') or -1))
    heads[#heads + 1] = { queue, waiting, score, math.max(0, now - added), cost, may_claim and 0 or 1, of_class }
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

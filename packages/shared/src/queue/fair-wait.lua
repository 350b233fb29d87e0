-- The place that fair queueing gives a job, and the engine ms that would run before it. This text is put before admit.lua.
--
-- Start-time fair queueing (Goyal, Vin, Cheng 1996) inside each class: a tenant's next job starts, in virtual time, where its
-- last one ended, but never before the virtual time of the class. An idle tenant saves up nothing, and the jobs of a tenant
-- that floods the queue wait behind each other.

-- How strongly short jobs go first. A job's place is its start tag plus a lag, so shorter jobs of each other tenant overtake it for at most
-- that much engine time, times the tenant's weight. The lag of a short job is COST_FACTOR times its cost; that of a long one grows with the logarithm of its cost,
-- by LAG_MS for each factor of 2.7. So a job of seconds goes before longer ones, and one of minutes does not wait for hours.
local COST_FACTOR = 60
local LAG_MS = 30000
local CLASS_SPAN = 2251799813685248 -- 2^51

local function lag_ms(cost) return LAG_MS * math.log(1 + COST_FACTOR * math.max(1, cost) / LAG_MS) end

-- `job` as in admit.lua, or the nodes of a workflow with this cost, in the group `queue`; keys as in admit.lua.
-- Returns the start tag, the score, the engine ms of this group that run before the job, the virtual time of the class, and when a job of
-- it was last admitted.
local function fair_place(prefix, job, queue, cost)
  local fair, prioritized, load = prefix .. ':fair:' .. queue, prefix .. ':' .. queue .. ':prioritized', prefix .. ':load:' .. queue
  local classes, first = {}, job.first_score
  for each in string.gmatch(job.classes, '%S+') do classes[#classes + 1] = each end
  local class = classes[1]
  local known = redis.call('HMGET', fair, class, class .. ' :last')
  local virtual_time = tonumber(known[1] or 0)
  local start = math.max(virtual_time, tonumber(redis.call('ZSCORE', fair .. ':' .. class, job.tenant) or 0))
  local score = first + math.min(CLASS_SPAN - 1, math.floor(start + lag_ms(cost)))
  local ahead_ms = 0
  for i, ms in ipairs(redis.call('HMGET', load, unpack(classes))) do
    local waiting_ms = math.max(0, tonumber(ms or 0))
    if i == 1 and waiting_ms > 0 then
      -- Of the class, only the jobs with a smaller score run before; each counts as the mean of the class.
      local last = first + CLASS_SPAN - 1
      local waiting = redis.call('ZCOUNT', prioritized, first, last)
      local ahead = redis.call('ZCOUNT', prioritized, first, score)
      waiting_ms = waiting > 0 and waiting_ms * ahead / waiting or waiting_ms
    end
    ahead_ms = ahead_ms + waiting_ms
  end
  return start, score, ahead_ms, virtual_time, tonumber(known[2] or 0)
end

-- Work in other groups delays a job at most as much as its own group does: a worker runs its lanes side by side, so until
-- the job is done each other group takes at most as much time as the job's own group.
local function wait_ms(ahead_ms, cost, elsewhere_ms, elsewhere_groups, workers)
  local elsewhere = math.min(elsewhere_ms, elsewhere_groups * (ahead_ms + math.max(1, cost)))
  return (ahead_ms + elsewhere) / math.max(1, workers)
end

-- Pauses or resumes models, and with them their group queues, or a tenant, in one step. Of a model, BullMQ's own mark is what stops the
-- claims (heads.lua, start.lua), and what its admin page shows. A group that a paused model gets later is marked when it is listed
-- (records/move-effects.lua).
-- Jobs of a tenant that is paused are parked when a worker comes to them (records/transition.lua). Resumed, they are due at once, and API
-- processes release them. is-paused.lua is put before this text.
--
-- set_pause(prefix, target, pause): `target` is a name, `name@version`, `*` or `tenant:<name>`; `pause` its facts as JSON, ''
-- to resume. Returns 0 when what is to be resumed was not paused, and then changes nothing; else 1.

-- The model of a group queue (contracts/group.ts); nil of another queue.
local function model_of(queue)
  local task, rest = string.match(queue, '^(%a+)%.(.+@.+)$')
  if task ~= 'diffusion' then return rest end
  return string.match(rest, '^(.+)%.%d+x%d+$') or string.match(rest, '^(.+)%.%d+x%d+~[^~]+~[^~]+~[^~]+$')
end

-- Per command; Lua cannot pass many more.
local AT_ONCE = 1000

-- 1.2 us a job: at most as many as the limit on the jobs of a tenant.
local function release_parked(prefix, tenant)
  local ids = redis.call('ZRANGE', prefix .. ':parked:' .. tenant, 0, -1)
  local due = {}
  for i, id in ipairs(ids) do
    due[#due + 1], due[#due + 2] = 0, id
    if #due == 2 * AT_ONCE or i == #ids then
      redis.call('ZADD', prefix .. ':scheduled-jobs', unpack(due))
      due = {}
    end
  end
end

local function set_pause(prefix, target, pause)
  local pauses = prefix .. ':pauses'
  if pause ~= '' then
    redis.call('HSET', pauses, target, pause)
  elseif redis.call('HDEL', pauses, target) == 0 then
    return 0
  end
  local tenant = string.match(target, '^tenant:(.+)$')
  if tenant and pause == '' then release_parked(prefix, tenant) end
  for _, queue in ipairs(tenant and {} or redis.call('SMEMBERS', prefix .. ':groups')) do
    local model, base = model_of(queue), prefix .. ':' .. queue .. ':'
    if not model then
      -- Of another task than those that models have.
    elseif is_paused(pauses, model) then
      redis.call('HSET', base .. 'meta', 'paused', '1')
      redis.call('DEL', base .. 'marker')
    elseif redis.call('HDEL', base .. 'meta', 'paused') == 1 and redis.call('EXISTS', base .. 'prioritized', base .. 'wait') > 0 then
      -- A marker wakes one worker, and a worker that claims leaves it for the next one.
      redis.call('ZADD', base .. 'marker', 0, '0')
    end
  end
  if pause ~= '' and cjson.decode(pause).now then redis.call('PUBLISH', pauses, target) end
  return 1
end

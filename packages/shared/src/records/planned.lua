-- What admission has promised to the nodes of unfinished workflows that have no record yet: places among the jobs of their tenant, and
-- engine ms. All nodes of a workflow are planned when it is admitted (queue/admit.lua). A node is taken from the plan when its record is
-- made, and all that are left when their workflow ends. This text is put before the scripts that use it.
--
-- <prefix>:planned:<workflow>    hash: '<class> <model> <cost>' by job id of the node
-- <prefix>:planned-of:<tenant>   hash: estimated engine ms by '<class> <model>', and the number of all nodes as 'nodes'

local function shift_planned(prefix, tenant, node, sign)
  local sums = prefix .. ':planned-of:' .. tenant
  local class_model, cost = string.match(node, '^(.*) (%S+)$')
  redis.call('HINCRBYFLOAT', sums, class_model, sign * tonumber(cost))
  -- Sums of floats keep a rest.
  if redis.call('HINCRBY', sums, 'nodes', sign) <= 0 then redis.call('DEL', sums) end
end

-- nodes: list of {job, model, cost}
local function plan_nodes(prefix, tenant, workflow, class, nodes)
  local key = prefix .. ':planned:' .. workflow
  for _, each in ipairs(nodes) do
    local node = class .. ' ' .. each.model .. ' ' .. each.cost
    redis.call('HSET', key, each.job, node)
    shift_planned(prefix, tenant, node, 1)
  end
end

-- Takes one node from the plan, or all of the workflow.
local function unplan(prefix, tenant, workflow, job)
  local key = prefix .. ':planned:' .. workflow
  for _, each in ipairs(job and { job } or redis.call('HKEYS', key)) do
    local node = redis.call('HGET', key, each)
    if node then
      redis.call('HDEL', key, each)
      shift_planned(prefix, tenant, node, -1)
    end
  end
end

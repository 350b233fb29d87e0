-- A part of a page of a tenant's jobs, newest first. The whole records are read only of jobs that match; of the others, four short fields.
--
-- KEYS[1]  a set of job ids in order of id: of all jobs of the tenant, of those that ended in one state, or of the unfinished ones
-- ARGV[1]  <prefix>, ARGV[2] the id after which the part begins; empty: it begins with the newest job
-- ARGV[3]  how many records, ARGV[4] how many ids to look at, ARGV[5] no further record is read after this many bytes
-- ARGV[6]  the state, ARGV[7] the type, ARGV[8] the model (`name` or `name@version`); empty: any
-- ARGV[9]  1: ids without a record leave the set, because the record has expired
--
-- Returns {the id that was looked at last, 1 if older ones follow, bytes of the records, {{id, the record as a flat hash} ...}}; of a key
-- that is no hash, the id alone.

local prefix, after, max_records, max_ids, max_bytes = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local state, type_wanted, model = ARGV[6], ARGV[7], ARGV[8]

-- Nodes are shown with their workflow and not beside it.
local function matches(known)
  if known[4] then return false end
  if state ~= '' and known[1] ~= state then return false end
  if type_wanted ~= '' and known[2] ~= type_wanted then return false end
  if model == '' or known[3] == model then return true end
  return string.sub(known[3] or '', 1, #model + 1) == model .. '@'
end

local bytes = 0
local function read(key)
  local flat = redis.call('HGETALL', key)
  for _, each in ipairs(flat) do bytes = bytes + #each end
  return flat
end

local ids = redis.call('ZRANGE', KEYS[1], after == '' and '+' or '(' .. after, '-', 'BYLEX', 'REV', 'LIMIT', 0, max_ids + 1)
local more = #ids > max_ids and 1 or 0
local last, records = after, {}
for i = 1, math.min(#ids, max_ids) do
  if #records == max_records or bytes >= max_bytes then
    more = 1
    break
  end
  local id = ids[i]
  local key = prefix .. ':record:' .. id
  local known = redis.pcall('HMGET', key, 'state', 'type', 'model', 'parent')
  last = id
  if known.err then
    records[#records + 1] = { id }
  elseif not known[1] and redis.call('EXISTS', key) == 0 then
    if ARGV[9] == '1' then redis.call('ZREM', KEYS[1], id) end
  elseif not known[1] or matches(known) then
    records[#records + 1] = { id, read(key) }
  end
end
return { last, more, bytes, records }

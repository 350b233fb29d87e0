-- A part of a page of a tenant's jobs, newest first. The whole records are read only of jobs that match; of the others, four short fields.
--
-- KEYS[1..]  sets of job ids in order of id: of all jobs of the tenant, of those that ended in one state, of the unfinished ones, or of those
--            with a label. The smallest is read; of the others it is asked whether they have the job
-- ARGV[1]  <prefix>, ARGV[2] the id after which the part begins; empty: it begins with the newest job
-- ARGV[3]  how many records, ARGV[4] how many ids to look at, ARGV[5] no further record is read or searched after this many bytes
-- ARGV[6]  the state, ARGV[7] the type, ARGV[8] the model (`name` or `name@version`); empty: any
-- ARGV[9]  1: ids without a record leave the set, because the record has expired
-- ARGV[10] the id before which the list ends, '' for none: it has no older jobs than that
-- ARGV[11] in lower case, words separated by spaces that one text of the job contains: its prompt, that of a node, one of its texts, or its
--          transcript; empty: any
-- ARGV[12] 1: ids alone
-- ARGV[13] the code of its error; empty: any
--
-- Returns {the id that was looked at last, 1 if older ones follow, bytes that were read and searched, with LOOK_BYTES for each job, {{id,
-- the record as a flat hash} ...}}; of a key that is no hash, the id alone.

local prefix, after, max_records, max_ids, max_bytes = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local state, type_wanted, model = ARGV[6], ARGV[7], ARGV[8]

-- What is damaged has no fields.
local function decoded(text)
  local is_json, value = pcall(cjson.decode, text or '')
  return is_json and value
end
local function field_of(value, name)
  return type(value) == 'table' and value[name] or nil
end

-- Nodes are shown with their workflow and not beside it.
local error_code = ARGV[13]
local function matches(known)
  if known[4] then return false end
  if state ~= '' and known[1] ~= state then return false end
  if type_wanted ~= '' and known[2] ~= type_wanted then return false end
  if error_code ~= '' and field_of(decoded(known[5]), 'code') ~= error_code then return false end
  if model == '' or known[3] == model then return true end
  return string.sub(known[3] or '', 1, #model + 1) == model .. '@'
end

local list = KEYS[1]
for i = 2, #KEYS do
  if redis.call('ZCARD', KEYS[i]) < redis.call('ZCARD', list) then list = KEYS[i] end
end
local function is_in_all(id)
  for _, key in ipairs(KEYS) do
    if key ~= list and not redis.call('ZSCORE', key, id) then return false end
  end
  return true
end

-- Only the letters of ASCII are compared without their case.
local wanted = ARGV[11]
local function has(text)
  if type(text) ~= 'string' then return false end
  local lower = string.lower(text)
  for word in string.gmatch(wanted, '%S+') do
    if not string.find(lower, word, 1, true) then return false end
  end
  return true
end
local function has_any(list, words_of)
  for _, each in ipairs(type(list) == 'table' and list or {}) do
    if has(words_of(each)) then return true end
  end
  return false
end
local bytes = 0
-- A look at a job that is neither read nor searched takes Redis about as long as these bytes of one that is searched.
local LOOK_BYTES = 128
local function is_found(key)
  if wanted == '' then return true end
  local stored = redis.call('HMGET', key, 'input', 'output')
  bytes = bytes + #(stored[1] or '') + #(stored[2] or '')
  local input, output = decoded(stored[1]), decoded(stored[2])
  if has(field_of(input, 'prompt')) or has(field_of(field_of(output, 'transcript'), 'text')) then return true end
  if has_any(field_of(input, 'texts'), function(text) return field_of(text, 'text') or text end) then return true end
  return has_any(field_of(input, 'nodes'), function(node) return field_of(field_of(node, 'input'), 'prompt') end)
end

local function read(key)
  local flat = redis.call('HGETALL', key)
  for _, each in ipairs(flat) do bytes = bytes + #each end
  return flat
end

local least = ARGV[10] == '' and '-' or '[' .. ARGV[10]
local ids = redis.call('ZRANGE', list, after == '' and '+' or '(' .. after, least, 'BYLEX', 'REV', 'LIMIT', 0, max_ids + 1)
local more = #ids > max_ids and 1 or 0
local last, records = after, {}
for i = 1, math.min(#ids, max_ids) do
  if #records == max_records or bytes >= max_bytes then
    more = 1
    break
  end
  local id = ids[i]
  local key = prefix .. ':record:' .. id
  local known = redis.pcall('HMGET', key, 'state', 'type', 'model', 'parent', error_code == '' and 'parent' or 'error')
  last = id
  bytes = bytes + LOOK_BYTES
  if known.err then
    records[#records + 1] = { id }
  elseif not known[1] and redis.call('EXISTS', key) == 0 then
    if ARGV[9] == '1' then redis.call('ZREM', list, id) end
  elseif not known[1] or (matches(known) and is_in_all(id) and is_found(key)) then
    records[#records + 1] = ARGV[12] == '1' and { id } or { id, read(key) }
  end
end
return { last, more, bytes, records }

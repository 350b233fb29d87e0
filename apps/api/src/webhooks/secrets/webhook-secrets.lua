-- Reads or changes the secrets that sign the webhooks of one owner; the first of the list is the current one. Adds one if there is
-- none.
--
-- The text of append-audit.lua is put before this one.
--
-- KEYS[1]  <prefix>:hook-secrets:<tenant>   JSON list of {sealed, created_at, expires_at?, shown?}, newest first
-- KEYS[2]  the audit log
-- ARGV[1]  a new secret, sealed, in case one is needed
-- ARGV[2]  the command: 'live' only reads; 'show' succeeds once per secret; 'rotate' adds the new secret and shows it
-- ARGV[3]  how long a rotated secret keeps signing, ms
-- ARGV[4]  retention of the audit log, ms
-- ARGV[5]  facts for the audit log, as JSON without the action
--
-- Returns {1 or 0, list, actions}: 0 when 'show' was called for a secret that was shown before, and when 'rotate' would end a secret
-- before its time; the actions are in the audit log.

-- Each live secret adds a signature to every header.
local MAX_LIVE = 4

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local live = {}
for _, secret in ipairs(cjson.decode(redis.call('GET', KEYS[1]) or '[]')) do
  if #live < MAX_LIVE and (not secret.expires_at or secret.expires_at > now) then live[#live + 1] = secret end
end

-- Receivers still verify with the old ones: a rotation must not end any of them early.
if ARGV[2] == 'rotate' and #live == MAX_LIVE then return { 0, cjson.encode(live), {} } end

local changed = false
local actions = {}
if #live == 0 or ARGV[2] == 'rotate' then
  if live[1] then live[1].expires_at = now + tonumber(ARGV[3]) end
  table.insert(live, 1, { sealed = ARGV[1], created_at = now })
  actions[1] = ARGV[2] == 'rotate' and 'webhook-secret.rotated' or 'webhook-secret.created'
  changed = true
end

local granted = 1
if ARGV[2] ~= 'live' then
  if live[1].shown then
    granted = 0
  else
    live[1].shown = true
    if ARGV[2] == 'show' then actions[#actions + 1] = 'webhook-secret.shown' end
    changed = true
  end
end
for _, action in ipairs(actions) do
  local facts = cjson.decode(ARGV[5])
  facts.action = action
  append_audit(KEYS[2], ARGV[4], facts)
end
if changed then redis.call('SET', KEYS[1], cjson.encode(live)) end
return { granted, cjson.encode(live), actions }

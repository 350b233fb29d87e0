-- Reads or changes the secrets that sign the webhooks of one owner; the first of the list is the current one. Adds one if there is
-- none.
--
-- KEYS[1]  <prefix>:hook-secrets:<tenant>   JSON list of {sealed, created_at, expires_at?, shown?}, newest first
-- ARGV[1]  a new secret, sealed, in case one is needed
-- ARGV[2]  the command: 'live' only reads; 'show' succeeds once per secret; 'rotate' adds the new secret and shows it
-- ARGV[3]  how long a rotated secret keeps signing, ms
--
-- Returns {1 or 0, list}: 0 when 'show' was called for a secret that was shown before.

-- Each live secret adds a signature to every header.
local MAX_LIVE = 4

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local live = {}
for _, secret in ipairs(cjson.decode(redis.call('GET', KEYS[1]) or '[]')) do
  if #live < MAX_LIVE and (not secret.expires_at or secret.expires_at > now) then live[#live + 1] = secret end
end

local changed = false
if #live == 0 or ARGV[2] == 'rotate' then
  if live[1] then live[1].expires_at = now + tonumber(ARGV[3]) end
  table.insert(live, 1, { sealed = ARGV[1], created_at = now })
  live[MAX_LIVE + 1] = nil
  changed = true
end

local granted = 1
if ARGV[2] ~= 'live' then
  if live[1].shown then
    granted = 0
  else
    live[1].shown = true
    changed = true
  end
end
if changed then redis.call('SET', KEYS[1], cjson.encode(live)) end
return { granted, cjson.encode(live) }

-- Replaces sealed secrets of one owner by the same secrets sealed with another key. A secret that was removed meanwhile stays
-- removed.
--
-- KEYS[1]  <prefix>:hook-secrets:<tenant>   JSON list, see webhook-secrets.lua
-- ARGV     old, new, old, new ...: secrets as they are stored, and what replaces them

local replaced = {}
for i = 1, #ARGV, 2 do replaced[ARGV[i]] = ARGV[i + 1] end

local stored = redis.call('GET', KEYS[1])
if not stored then return end
local secrets = cjson.decode(stored)
for _, secret in ipairs(secrets) do
  secret.sealed = replaced[secret.sealed] or secret.sealed
end
if #secrets > 0 then redis.call('SET', KEYS[1], cjson.encode(secrets)) end

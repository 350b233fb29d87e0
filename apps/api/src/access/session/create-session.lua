-- Adds a session of an API key. Removes those that have expired, and the oldest one above the limit.
--
-- KEYS[1] the sessions of the key, a hash by digest; [2] the audit log
-- ARGV[1] the digest, [2] the session as JSON, [3] now in ms, [4] its lifetime in ms, [5] most sessions of a key, [6] retention of the
--         log, [7] facts for it
local kept, oldest = 0, nil
local sessions = redis.call('HGETALL', KEYS[1])
for i = 1, #sessions, 2 do
  local expires_at = cjson.decode(sessions[i + 1]).expires_at
  if expires_at <= tonumber(ARGV[3]) then
    redis.call('HDEL', KEYS[1], sessions[i])
  else
    kept = kept + 1
    if oldest == nil or expires_at < oldest.expires_at then oldest = { digest = sessions[i], expires_at = expires_at } end
  end
end
if kept >= tonumber(ARGV[5]) then redis.call('HDEL', KEYS[1], oldest.digest) end
append_audit(KEYS[2], ARGV[6], ARGV[7])
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 1

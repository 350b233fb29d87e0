-- What a tenant has stored and uploaded: reads it, takes space for one more upload, frees the space of one, or gives back all that
-- one took.
--
-- KEYS[1]  <prefix>:stored:<tenant>    object keys of stored uploads, by when they expire
-- KEYS[2]  <prefix>:stored-bytes:<tenant>   hash: the bytes of each
-- KEYS[3]  <prefix>:storage:<tenant>   hash: `stored`, their bytes together; by number of the hour, the bytes uploaded in it
-- ARGV[1]  the command: 'read', 'take', 'free' or 'give-back'
-- ARGV[2]  bytes, ARGV[3] object key
-- ARGV[4]  how long the upload is stored, ms; for 'give-back' as for its 'take'
-- ARGV[5]  most bytes stored, or '' for no limit; ARGV[6] most bytes uploaded in a day, or ''
--
-- Returns {code, bytes stored, bytes uploaded in the last day}; the code is 'ok', or the limit that refuses a 'take': 'stored' or
-- 'uploaded'.

local HOUR_MS = 3600000
local DAY_H = 24
-- A call removes at most this many uploads that have expired; the next ones remove the others.
local MAX_REMOVED = 1000

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local hour = math.floor(now / HOUR_MS)

local stored, uploaded = 0, 0
local facts = redis.call('HGETALL', KEYS[3])
for i = 1, #facts, 2 do
  if facts[i] == 'stored' then
    stored = tonumber(facts[i + 1])
  elseif tonumber(facts[i]) > hour - DAY_H then
    uploaded = uploaded + tonumber(facts[i + 1])
  else
    redis.call('HDEL', KEYS[3], facts[i])
  end
end

local function remove(key)
  if redis.call('ZREM', KEYS[1], key) == 0 then return end
  stored = math.max(0, stored - tonumber(redis.call('HGET', KEYS[2], key) or 0))
  redis.call('HDEL', KEYS[2], key)
  redis.call('HSET', KEYS[3], 'stored', stored)
end

local expired = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, MAX_REMOVED)
for _, key in ipairs(expired) do remove(key) end

local bytes = tonumber(ARGV[2])
if ARGV[1] == 'free' then
  remove(ARGV[3])
elseif ARGV[1] == 'give-back' then
  local expires_at = redis.call('ZSCORE', KEYS[1], ARGV[3])
  if expires_at then
    local taken_in = math.floor((expires_at - ARGV[4]) / HOUR_MS)
    local taken = tonumber(redis.call('HGET', KEYS[2], ARGV[3]) or 0)
    -- The hour is gone when the upload was taken more than a day ago.
    if redis.call('HEXISTS', KEYS[3], taken_in) == 1 then
      redis.call('HINCRBY', KEYS[3], taken_in, -taken)
      uploaded = uploaded - taken
    end
    remove(ARGV[3])
  end
elseif ARGV[1] == 'take' then
  if ARGV[5] ~= '' and stored + bytes > tonumber(ARGV[5]) then return { 'stored', stored, uploaded } end
  if ARGV[6] ~= '' and uploaded + bytes > tonumber(ARGV[6]) then return { 'uploaded', stored, uploaded } end
  stored = stored + bytes
  uploaded = uploaded + bytes
  redis.call('ZADD', KEYS[1], now + ARGV[4], ARGV[3])
  redis.call('HSET', KEYS[2], ARGV[3], bytes)
  redis.call('HSET', KEYS[3], 'stored', stored)
  redis.call('HINCRBY', KEYS[3], hour, bytes)
  -- Every upload outlives the earlier ones, so the keys are kept until nothing in them counts.
  local kept_ms = math.max(tonumber(ARGV[4]), DAY_H * HOUR_MS) + HOUR_MS
  for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, kept_ms) end
end
return { 'ok', stored, uploaded }

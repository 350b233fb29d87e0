-- Stores checkpoints of running jobs, each only while the lease that made it owns the job: an attempt that was overtaken never
-- replaces the checkpoint of a newer one.
--
-- KEYS     per checkpoint: the job's record, the job's checkpoints
-- ARGV[1]  how long checkpoints are kept, ms
-- ARGV     after it, per checkpoint: lease, index of the picture, kind, value. Of the kind `bytes`, the value is the checkpoint; of
--          the kind `object`, it is the key of the object that holds it
--
-- Returns per checkpoint 0 if the lease is gone, else 1 or the key of the object that is no longer needed.

local outcomes = {}
for i = 1, #KEYS / 2 do
  local record, checkpoints = KEYS[2 * i - 1], KEYS[2 * i]
  local lease, index, kind, value = ARGV[4 * i - 2], ARGV[4 * i - 1], ARGV[4 * i], ARGV[4 * i + 1]
  if redis.call('HGET', record, 'lease') ~= lease then
    outcomes[i] = 0
  else
    local earlier = redis.call('HGET', checkpoints, 'object:' .. index)
    redis.call('HDEL', checkpoints, 'bytes:' .. index, 'object:' .. index)
    redis.call('HSET', checkpoints, kind .. ':' .. index, value)
    redis.call('PEXPIRE', checkpoints, ARGV[1])
    -- A worker that starts the job reads in its record whether there is a checkpoint.
    redis.call('HSET', record, 'checkpoint', 1)
    outcomes[i] = earlier and earlier ~= value and earlier or 1
  end
end
return outcomes

-- Counts the ends of the jobs of a rollout, for transition.lua. This text is put before that one, after move-effects.lua (`prefix`), BUCKETS
-- and PAIRS (records/rollout-share.ts).

local OUTCOMES_KEPT_MS = 30 * 24 * 3600000

-- Device ms and batch size of a job that succeeded; nil for pictures that continued from a checkpoint, whose first steps were not measured.
local function device_ms(metrics)
  local ok, parsed = pcall(cjson.decode, metrics or '')
  local ms = ok and type(parsed) == 'table' and tonumber(parsed.device_ms)
  if not ms then return nil end
  return ms, tonumber(parsed.batch_size) or 1
end

-- The class of a number when each class begins at `ratio` times the one before; at most `most`.
local function class_of(number, ratio, most)
  -- A number at the edge of two classes must not fall below it by rounding.
  return math.max(0, math.min(most, math.floor(math.log(math.max(number, 1)) / math.log(ratio) + 1e-9)))
end

-- Compares a job with the last one of the other version that had about its size and its batch size and was not compared yet.
local function compare(key, side, ratio, size, batch)
  local class = 'pair ' .. class_of(size, 2, 32) .. ' ' .. class_of(batch, PAIRS.batch_ratio, 60)
  local other, theirs = string.match(redis.call('HGET', key, class) or '', '^(%a+) (%S+)$')
  if not other or other == side then
    redis.call('HSET', key, class, side .. ' ' .. ratio)
    return
  end
  redis.call('HDEL', key, class)
  local canary, stable = ratio, tonumber(theirs)
  if side == 'stable' then canary, stable = stable, canary end
  redis.call('HINCRBY', key, canary > PAIRS.tolerance * stable and 'slower' or 'faster', 1)
end

-- Counts the end of a job whose version a rollout chose: by its version, and by its state or the code of its error.
local function count_outcome(rollout, state, fields)
  local id, side, expected, stage = string.match(rollout, '^(%S+) (%a+) (%S+) (%d+)$')
  local size = tonumber(expected)
  if not size then return end
  local outcome = state
  if state == 'failed' then
    local ok, failure = pcall(cjson.decode, fields and fields.error or '')
    outcome = ok and type(failure) == 'table' and type(failure.code) == 'string' and failure.code or 'internal'
  end
  local key = prefix .. ':rollout-outcomes:' .. id
  local of_stage = key .. '.' .. stage
  redis.call('HINCRBY', key, side .. ' ' .. outcome, 1)
  redis.call('HINCRBY', of_stage, side .. ' ' .. outcome, 1)
  if state == 'succeeded' then
    local ms, batch = device_ms(fields and fields.metrics)
    if ms then
      local ratio = math.max(ms, 0.01) / math.max(size, 0.01)
      local bucket = math.floor(math.log(ratio) / math.log(BUCKETS.ratio))
      bucket = math.max(BUCKETS.first, math.min(BUCKETS.last, bucket))
      redis.call('HINCRBY', key, side .. ' ~' .. bucket, 1)
      compare(of_stage, side, ratio, size, batch)
    end
  end
  redis.call('PEXPIRE', key, OUTCOMES_KEPT_MS)
  redis.call('PEXPIRE', of_stage, OUTCOMES_KEPT_MS)
end

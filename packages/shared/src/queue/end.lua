-- Ends a claimed job in one round trip: its record, then its BullMQ job, so that no crash comes between.
--
-- These texts are put before this one when it is loaded (attempt-store.ts): the function `apply` (records/transition.lua, which describes KEYS
-- and ARGV[1] and ARGV[3]), KEPT, and BullMQ's script that ends a job as the function `bull_finish`, which has KEYS and ARGV of its own.
--
-- ARGV[2]  JSON {queue, move, reason?}: a move of transition.lua that ends the job under its lease; with a reason the BullMQ job is failed,
--          for the admin page
--
-- Returns the outcome of the move. After 'stale' the BullMQ job belongs to another attempt and is left alone. Where its lock is gone,
-- BullMQ's script changes nothing.

local asked = cjson.decode(ARGV[2])
local outcome = apply(asked.move)
if outcome[1] == 'stale' then return outcome end

local base, id = prefix .. ':' .. asked.queue .. ':', asked.move.id
local target, field = 'completed', 'returnvalue'
if asked.reason then target, field = 'failed', 'failedReason' end
bull_finish(
  {
    base .. 'wait', base .. 'active', base .. 'prioritized', base .. 'events', base .. 'stalled', base .. 'limiter', base .. 'delayed',
    base .. 'paused', base .. 'meta', base .. 'pc', base .. target, base .. id, base .. 'metrics:' .. target, base .. 'marker',
  },
  {
    id, now, field, asked.reason or 'null', target, '0', base,
    cmsgpack.pack({ token = asked.move.lease, keepJobs = KEPT, attempts = 1, maxMetricsSize = '' }), '',
  }
)
return outcome

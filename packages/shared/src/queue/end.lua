-- Ends a claimed job in one round trip: its last charge, its record and its BullMQ job, so that no crash comes between.
--
-- These texts are put before this one when it is loaded (attempt-store.ts): the function `apply` (records/transition.lua, which describes KEYS
-- and ARGV[1] and ARGV[3]), `reprice` (reprice.lua), KEPT, and BullMQ's script that ends a job as the function `bull_finish`. The last two
-- functions take KEYS and ARGV.
--
-- ARGV[2]  JSON {queue, move, charge?, is_node?}: a move of transition.lua that ends the job under its lease; `charge` has the keys and args of
--          reprice; the BullMQ job of a node of a workflow stays, because the next nodes must come before its end
-- ARGV[4]  a reason, with which the BullMQ job is failed, for the admin page; absent for a job that is completed. It is no JSON, because
--          cjson refuses half of a surrogate pair, which a message can have: then the end could never be written.
--
-- Returns the outcome of the move. After 'stale' the BullMQ job belongs to another attempt and is left alone. Where its lock is gone,
-- BullMQ's script changes nothing.

local asked = cjson.decode(ARGV[2])
if asked.charge then
  -- At its limit of memory, Redis refuses commands that need some only until the script has written. This one needs none, and changes nothing.
  redis.call('ZREM', KEYS[1], '')
  -- A charge that fails must not keep the job from its end: it keeps the price at which it was admitted.
  pcall(reprice, asked.charge.keys, asked.charge.args)
end
local outcome = apply(asked.move)
if outcome[1] == 'stale' or asked.is_node then return outcome end

local base, id = prefix .. ':' .. asked.queue .. ':', asked.move.id
local target, field = 'completed', 'returnvalue'
if ARGV[4] then target, field = 'failed', 'failedReason' end
bull_finish(
  {
    base .. 'wait', base .. 'active', base .. 'prioritized', base .. 'events', base .. 'stalled', base .. 'limiter', base .. 'delayed',
    base .. 'paused', base .. 'meta', base .. 'pc', base .. target, base .. id, base .. 'metrics:' .. target, base .. 'marker',
  },
  {
    id, now, field, ARGV[4] or 'null', target, '0', base,
    cmsgpack.pack({ token = asked.move.lease, keepJobs = KEPT, attempts = 1, maxMetricsSize = '' }), '',
  }
)
return outcome

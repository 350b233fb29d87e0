/**
 * How many workers a pool should have, and why. One pure function: its callers read the state of the pool, and keep the memory that it
 * returns for the next time.
 *
 * Three needs are weighed, and the largest counts:
 *   waiting   the jobs that wait should wait no longer than the target of their class
 *   arriving  the workers must keep up with the work that arrives, with some room for its ups and downs
 *   running   work that runs needs the workers that run it
 * A new worker serves only after its start, so `waiting` looks at the queue as it will be then: a queue that the present workers will
 * have emptied needs no more of them, and one that will grow needs them before it has grown.
 */
import { PRIORITY_CLASSES } from '../../contracts/job.ts';
import {
  addLook,
  arrivingOf,
  explain,
  type Need,
  NO_MEMORY,
  type PoolState,
  type ScaleDecision,
  type ScaleMemory,
} from './decision.ts';
import { limitsAt, type ScalePolicy } from './policy.ts';

/** Room for the ups and downs of arriving work: this many times the square root of it, with a fast start and with a slow one. */
const ROOM_FAST = 0.5;
const ROOM_SLOW = 1;
const SLOW_START_MS = 120_000;
/**
 * Jobs that need a new worker wait for its start in any case. To end their queue much faster than that takes many workers, each of which
 * pays for a start, and saves little of the wait: so this share of a start is added to the target.
 */
const START_SHARE = 0.5;
/** Work that arrived longer ago says little about now. */
const MAX_WINDOW_MS = 120_000;
const MIN_WINDOW_MS = 10_000;
/** A number changes only when the load is past it by this share of a worker: up, and down. */
const UP_MARGIN = 0.1;
const DOWN_MARGIN = 0.25;
/** The clocks of two API processes differ less; a clock that goes back further was corrected. */
const MAX_CLOCK_DIFFERENCE_MS = 60_000;

export function desiredWorkers(
  seen: PoolState,
  policy: ScalePolicy,
  memory: ScaleMemory = NO_MEMORY,
): ScaleDecision {
  const atMs = notBefore(memory, seen.atMs);
  const state = { ...seen, atMs };
  const limits = limitsAt(policy, atMs);
  const backlogMs = PRIORITY_CLASSES.reduce((sum, each) => sum + state.waitingMs[each], 0);
  const samples = addLook(memory.samples, { atMs, backlogMs, busy: state.busy }, loadWindowMs(policy));
  const startMs = startMsOf(state, policy);
  const need = largestNeed(state, policy, arrivingOf(samples), startMs, memory.desired);
  // What the pool cannot have is not held either.
  const peaks = withPeak(memory.peaks, atMs, Math.min(need.workers, limits.max), policy);
  const held = heldBy(peaks, atMs, need.workers, policy);
  const wanted = held?.workers ?? need.workers;
  const desired = Math.min(limits.max, Math.max(limits.min, wanted));
  const reason =
    desired < wanted
      ? limits.maxBy
      : desired > wanted
        ? limits.minBy
        : held === undefined
          ? need.reason
          : 'holding';
  return {
    desired,
    reason,
    explanation: explain({ desired, reason, need, held, limits, policy, state, startMs }),
    memory: { desired, peaks, samples },
  };
}

/** Another process may have made the last decision by a clock that is ahead: what it noted at that time counts all the same. */
function notBefore({ samples }: ScaleMemory, atMs: number): number {
  const [lastMs] = samples.at(-1) ?? [atMs];
  return lastMs - atMs <= MAX_CLOCK_DIFFERENCE_MS ? Math.max(lastMs, atMs) : atMs;
}

/** Of equal needs, the first. */
function largestNeed(
  state: PoolState,
  policy: ScalePolicy,
  arriving: number,
  startMs: number,
  current: number,
): Need {
  const needs = [
    waitingNeed(state, policy, arriving, startMs),
    { reason: 'arriving' as const, workers: arrivingWorkers(arriving, startMs, current), arriving },
    { reason: 'running' as const, workers: runningWorkers(state), arriving },
  ];
  const largest = needs.reduce((best, each) => (each.workers > best.workers ? each : best));
  return largest.workers === 0 ? { reason: 'idle', workers: 0, arriving } : largest;
}

/** A shorter window would follow every gap between two jobs, and a longer one would hold workers for longer than asked. */
const loadWindowMs = ({ shrink_after_s }: ScalePolicy): number =>
  Math.min(MAX_WINDOW_MS, Math.max(MIN_WINDOW_MS, 2 * shrink_after_s * 1000));

/** From the decision until a worker serves. */
export const startMsOf = (
  { startMs }: Pick<PoolState, 'startMs'>,
  { start_s, provision_s }: ScalePolicy,
): number => provision_s * 1000 + (startMs ?? start_s * 1000);

/** Each class waits for its own jobs and the more urgent ones. */
function waitingNeed(
  { waitingMs, live }: PoolState,
  { target_wait_s }: ScalePolicy,
  arriving: number,
  startMs: number,
): Need {
  let aheadMs = 0;
  let need: Need = { reason: 'waiting', workers: 0, arriving };
  for (const priority of PRIORITY_CLASSES) {
    aheadMs += waitingMs[priority];
    // When a worker that is started now serves.
    const thenMs = aheadMs > 0 ? Math.max(0, aheadMs + (arriving - live) * startMs) : 0;
    const workers = ceil(thenMs / (target_wait_s[priority] * 1000 + START_SHARE * startMs));
    if (workers > need.workers) need = { ...need, workers, priority, waitingMs: aheadMs, thenMs };
  }
  return need;
}

/** Square-root staffing: the ups and downs of work from many callers grow with the square root of it. */
function arrivingWorkers(arriving: number, startMs: number, current: number): number {
  const room = ROOM_FAST + (ROOM_SLOW - ROOM_FAST) * Math.min(1, startMs / SLOW_START_MS);
  // Less than this is a worker that is seldom busy: one that waits for it is started by the queue.
  if (arriving < 0.02) return 0;
  const exact = arriving + room * Math.sqrt(arriving);
  const [low, high] = [ceil(exact - UP_MARGIN), ceil(exact + DOWN_MARGIN)];
  return Math.min(high, Math.max(low, current));
}

const runningWorkers = ({ running, busy }: PoolState): number =>
  running === 0 ? 0 : Math.max(1, ceil(busy));

/** Without the last digits of a floating-point sum. */
const ceil = (value: number): number => Math.max(0, Math.ceil(value - 1e-9));

function withPeak(
  peaks: ScaleMemory['peaks'],
  atMs: number,
  workers: number,
  policy: ScalePolicy,
): ScaleMemory['peaks'] {
  const keptMs = Math.max(policy.shrink_after_s, policy.zero_after_s) * 1000;
  const larger = peaks.filter(([at, each]) => each > workers && at <= atMs && at >= atMs - keptMs);
  return workers === 0 ? larger : [...larger, [atMs, workers]];
}

/** A larger number that was wanted recently, as long as it holds; the last worker is held for longer. */
function heldBy(
  peaks: ScaleMemory['peaks'],
  atMs: number,
  workers: number,
  { shrink_after_s, zero_after_s }: ScalePolicy,
): { readonly workers: number; readonly untilMs: number } | undefined {
  const peak = peaks.find(([at, each]) => each > workers && at >= atMs - shrink_after_s * 1000);
  if (peak) return { workers: peak[1], untilMs: peak[0] + shrink_after_s * 1000 };
  const last = peaks.findLast(([at]) => at >= atMs - zero_after_s * 1000);
  return workers === 0 && last ? { workers: 1, untilMs: last[0] + zero_after_s * 1000 } : undefined;
}

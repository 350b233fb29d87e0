/**
 * Judges the rollouts that are under way, once a second, in one of all API processes: the one that holds a lock. If it is killed,
 * another one takes the lock. The lock only saves work: a step is stored only if the rollout is still the one that was judged
 * (RolloutStore.change), so that two processes at once take it once.
 */
import { type Clock, formatModelRef, type Log, type Metrics, readFleet } from '@lehr/shared';
import { WorkLock } from '@lehr/shared/queue';
import type { Keys, Redis } from '@lehr/shared/redis';
import { OWN_ACTOR } from '../access/audit/audit-log.ts';
import { fleetIndex } from '../fleet/fleet-index.ts';
import { judgeRollout } from './judge.ts';
import type { StoredRollout } from './rollout.ts';
import type { RolloutStep, RolloutStore } from './rollout-store.ts';

export interface RunJudgeParts {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly rollouts: RolloutStore;
  readonly clock: Clock;
  readonly metrics: Metrics<'api'>;
  readonly log: Log;
}

const EVERY_MS = 1000;
/** How long after the end of the judging process another one begins, at most. */
const LOCK_MS = 5000;

/** Returns the function that stops it. */
export function runJudge(parts: RunJudgeParts): () => Promise<void> {
  const { redis, keys, log } = parts;
  const lock = new WorkLock(redis, keys.rolloutJudge, LOCK_MS);
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  let running = Promise.resolve();
  let isJudging = false;
  const round = async (): Promise<void> => {
    try {
      const open = await runningRollouts(parts);
      if (open.length === 0) return;
      const wasJudging = isJudging;
      isJudging = await lock.hold((lost) => judgeAll(parts, open, lost));
      if (isJudging && !wasJudging) log.info({}, 'judges rollouts');
    } catch (error) {
      log.warn({ error }, 'rollouts could not be judged; trying again');
    }
  };
  const next = (): void => {
    timer = setTimeout(() => {
      running = round().then(() => {
        if (!isStopped) next();
      });
    }, EVERY_MS);
  };
  next();
  return async () => {
    isStopped = true;
    clearTimeout(timer);
    await running;
    // Redis may be gone by now; then the lock expires.
    await lock.release().catch(() => {});
  };
}

async function runningRollouts({ rollouts, metrics }: RunJudgeParts): Promise<readonly StoredRollout[]> {
  const open = [...(await rollouts.recent()).values()].filter(({ state }) => state === 'running');
  // The series must be there before the first rollback: Prometheus counts no increase from a series that did not exist.
  for (const { model } of open) metrics.rolloutDecisions.inc({ model, action: 'rolled-back' }, 0);
  return open;
}

async function judgeAll(
  { redis, keys, rollouts, clock, metrics, log }: RunJudgeParts,
  open: readonly StoredRollout[],
  lost: AbortSignal,
): Promise<void> {
  const fleet = await readFleet(redis, keys);
  for (const { model, id, rev } of open) {
    if (lost.aborted) return;
    let step: RolloutStep | undefined;
    await rollouts.change(model, OWN_ACTOR, (current, analysis) => {
      step = undefined;
      // An older reading: the next round judges what there is now.
      if (!current || current.id !== id || current.rev !== rev) return step;
      const canary = formatModelRef({ name: model, version: current.canary });
      const isServed = fleetIndex(fleet).available(canary) > 0;
      step = judgeRollout(current, analysis, { now: clock.now(), isServed });
      return step;
    });
    if (!step) continue;
    const { action, reason } = step;
    metrics.rolloutDecisions.inc({ model, action });
    log.warn({ model, action, reason }, 'decided on a rollout');
  }
}

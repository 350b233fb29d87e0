/** Deletes outputs and uploads that have expired: once an hour, by one of the API processes. */
import { type Clock, every, type Log, type Metrics } from '@lehr/shared';
import { type ObjectStore, sweepObjects } from '@lehr/shared/objects';
import { type Keys, type Redis, redisNow } from '@lehr/shared/redis';

interface SweepParts {
  readonly store: ObjectStore;
  readonly redis: Redis;
  readonly keys: Keys;
  readonly metrics: Pick<Metrics<'api'>, 'janitorActions'>;
  readonly clock: Clock;
  readonly log: Log;
}

const EVERY_MS = 3_600_000;
/** The first sweep waits, so that it does not slow down the start of the process. */
const FIRST_AFTER_MS = 60_000;

/** Returns a function that stops the sweeps. */
export const sweepOutputs = (parts: SweepParts, keepMs: number): (() => Promise<void>) =>
  every(EVERY_MS, (signal) => sweep(parts, keepMs, signal), {
    ...parts,
    firstMs: FIRST_AFTER_MS,
    failed: 'expired outputs could not be deleted; retrying in an hour',
  });

async function sweep(parts: SweepParts, keepMs: number, signal: AbortSignal): Promise<void> {
  const { store, redis, keys, metrics, clock, log } = parts;
  // The first process in each hour does it for all.
  if ((await redis.set(keys.sweep, '1', 'PX', EVERY_MS - FIRST_AFTER_MS, 'NX')) !== 'OK') return;
  // A clock that jumped ahead must not delete everything, so the earlier of two clocks decides.
  const now = Math.min(clock.now(), await redisNow(redis));
  const removed = await sweepObjects(store, now - keepMs, signal);
  if (removed > 0) metrics.janitorActions.inc({ action: 'files' }, removed);
  if (removed > 0) log.info({ removed }, 'expired outputs and uploads deleted');
}

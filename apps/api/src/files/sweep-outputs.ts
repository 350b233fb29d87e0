/** Deletes outputs and uploads that have expired: once an hour, by one of the API processes. */
import type { Clock, Log, Metrics } from '@lehr/shared';
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
export function sweepOutputs(parts: SweepParts, keepMs: number): () => Promise<void> {
  const stop = new AbortController();
  const sweeping = sweeps(parts, keepMs, stop.signal);
  return async () => {
    stop.abort();
    await sweeping;
  };
}

async function sweeps(parts: SweepParts, keepMs: number, signal: AbortSignal): Promise<void> {
  const { store, redis, keys, metrics, clock, log } = parts;
  for (let waitMs = FIRST_AFTER_MS; ; waitMs = EVERY_MS) {
    await clock.sleep(waitMs, signal);
    if (signal.aborted) return;
    try {
      // The first process in each hour does it for all.
      if ((await redis.set(keys.sweep, '1', 'PX', EVERY_MS - FIRST_AFTER_MS, 'NX')) !== 'OK') continue;
      // A clock that jumped ahead must not delete everything, so the earlier of two clocks decides.
      const now = Math.min(clock.now(), await redisNow(redis));
      const removed = await sweepObjects(store, now - keepMs, signal);
      if (removed > 0) metrics.janitorActions.inc({ action: 'files' }, removed);
      if (removed > 0) log.info({ removed }, 'expired outputs and uploads deleted');
    } catch (error) {
      log.warn({ error }, 'expired outputs could not be deleted; retrying in an hour');
    }
  }
}

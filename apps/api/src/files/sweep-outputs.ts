/** Once an hour, one of the API processes removes outputs and uploads that have been kept for long enough. */
import type { Clock, Log } from '@lehr/shared';
import { type ObjectStore, sweepObjects } from '@lehr/shared/objects';
import type { Keys, Redis } from '@lehr/shared/redis';

interface SweepParts {
  readonly store: ObjectStore;
  readonly redis: Redis;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly log: Log;
}

const EVERY_MS = 3_600_000;
/** After the start of a process, which has better things to do at first. */
const FIRST_AFTER_MS = 60_000;

/** Returns what ends it. */
export function sweepOutputs(parts: SweepParts, keepMs: number): () => Promise<void> {
  const stop = new AbortController();
  const sweeping = sweeps(parts, keepMs, stop.signal);
  return async () => {
    stop.abort();
    await sweeping;
  };
}

async function sweeps(parts: SweepParts, keepMs: number, signal: AbortSignal): Promise<void> {
  const { store, redis, keys, clock, log } = parts;
  for (let waitMs = FIRST_AFTER_MS; ; waitMs = EVERY_MS) {
    await clock.sleep(waitMs, signal);
    if (signal.aborted) return;
    try {
      // Whoever is first in the hour does it for all.
      if ((await redis.set(keys.sweep, '1', 'PX', EVERY_MS - FIRST_AFTER_MS, 'NX')) !== 'OK') continue;
      const removed = await sweepObjects(store, clock.now() - keepMs, signal);
      if (removed > 0) log.info({ removed }, 'old outputs and uploads removed');
    } catch (error) {
      log.warn({ error }, 'old outputs were not removed; trying again in an hour');
    }
  }
}

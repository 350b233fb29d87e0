/** Writes this process's counters once a second while a viewer asks for them, and else does one EXISTS a second. */
import { type Clock, type Log, type Metrics, WATCHED_EVERY_MS } from '@lehr/shared';
import type { Keys, Redis } from '@lehr/shared/redis';
import { countsOf, writeApiCounts } from './api-counts.ts';

export interface ReportCountsParts {
  readonly instance: string;
  readonly redis: Redis;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly metrics: Metrics<'api'>;
  readonly log: Log;
}

/** Returns the function that stops it. */
export function reportCounts(parts: ReportCountsParts): () => Promise<void> {
  const { instance, redis, keys, clock, metrics, log } = parts;
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  let running = Promise.resolve();
  const report = async (): Promise<void> => {
    try {
      if ((await redis.exists(keys.runningWatched)) === 1) {
        await writeApiCounts(redis, keys, instance, clock.now(), await countsOf(metrics));
      }
    } catch (error) {
      log.debug({ error }, 'counters could not be written');
    }
  };
  const next = (): void => {
    timer = setTimeout(() => {
      running = report().then(() => {
        if (!isStopped) next();
      });
    }, WATCHED_EVERY_MS);
  };
  next();
  return async () => {
    isStopped = true;
    clearTimeout(timer);
    await running;
  };
}

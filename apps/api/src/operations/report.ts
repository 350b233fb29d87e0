/**
 * What this API process reports in Redis: that it runs, and in which version; and its counters, while a viewer asks for them.
 */
import {
  type Clock,
  forgetApiProcess,
  type Log,
  type Metrics,
  reportApiProcess,
  WATCHED_EVERY_MS,
} from '@lehr/shared';
import type { Keys, Redis } from '@lehr/shared/redis';
import { countsOf, writeApiCounts } from './api-counts.ts';

interface ReportCountsParts {
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

const EVERY_MS = 5_000;

interface ReportProcessParts {
  readonly instance: string;
  readonly redis: Redis;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly log: Log;
}

/** `roles` as in LEHR_ROLES. Returns the function that stops it and removes the report. */
export function reportProcess(parts: ReportProcessParts, roles: string): () => Promise<void> {
  const { instance: id, redis, keys, log } = parts;
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  const report = async (): Promise<void> => {
    await reportApiProcess(redis, keys, { id, roles }).catch((error: unknown) =>
      log.debug({ error }, 'this process could not be reported'),
    );
    if (!isStopped) timer = setTimeout(next, EVERY_MS);
  };
  let running = report();
  function next(): void {
    running = report();
  }
  return async () => {
    isStopped = true;
    clearTimeout(timer);
    await running;
    await forgetApiProcess(redis, keys, id).catch(() => {});
  };
}

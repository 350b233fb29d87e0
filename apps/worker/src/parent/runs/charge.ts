/** What charging a job for its real cost takes, of whatever task it is. */
import { type Clock, retry, type WorkerStatus } from '@lehr/shared';
import type { Repriced, Repricer } from '@lehr/shared/queue';
import { isRedisOutage } from '@lehr/shared/redis';

export interface ChargeOptions {
  readonly repricer: Pick<Repricer, 'reprice'>;
  readonly clock: Pick<Clock, 'sleep'>;
  /** The lanes of this worker, with their speeds. */
  readonly lanes: () => WorkerStatus['lanes'];
}

const RETRIES = { firstMs: 500, maxMs: 500 };

/** A job must not fail because Redis is away: the charge is made once it is back. It may be repeated. */
export const throughOutages = (
  charge: () => Promise<Repriced>,
  clock: Pick<Clock, 'sleep'>,
  signal: AbortSignal,
): Promise<Repriced> =>
  retry(charge, {
    ...RETRIES,
    clock,
    signal,
    onFailure: (error) => {
      if (signal.aborted || !isRedisOutage(error)) throw error;
    },
  });

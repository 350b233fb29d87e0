/** What charging a job for its real cost takes, of whatever task it is. */
import type { Clock, WorkerStatus } from '@lehr/shared';
import type { Repriced, Repricer } from '@lehr/shared/queue';
import { isRedisOutage } from '@lehr/shared/redis';

export interface ChargeOptions {
  readonly repricer: Pick<Repricer, 'reprice'>;
  readonly clock: Pick<Clock, 'sleep'>;
  /** The lanes of this worker, with their speeds. */
  readonly lanes: () => WorkerStatus['lanes'];
}

const RETRY_MS = 500;

/** A job must not fail because Redis is away: the charge is made once it is back. It may be repeated. */
export async function throughOutages(
  charge: () => Promise<Repriced>,
  clock: Pick<Clock, 'sleep'>,
  signal: AbortSignal,
): Promise<Repriced> {
  for (;;) {
    try {
      return await charge();
    } catch (error) {
      if (signal.aborted || !isRedisOutage(error)) throw error;
      await clock.sleep(RETRY_MS, signal);
    }
  }
}

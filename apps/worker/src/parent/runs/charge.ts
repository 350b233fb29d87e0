/** Charges speech jobs for their real cost, which the API could only estimate when it admitted them. Texts are charged with their end. */
import { type Clock, type LaneSpeed, LehrError, retry, speechCostMs } from '@lehr/shared';
import type { Repriced, Repricer } from '@lehr/shared/queue';
import { isRedisOutage } from '@lehr/shared/redis';
import type { JobRun } from './job-run.ts';

interface ChargeOptions {
  readonly repricer: Pick<Repricer, 'reprice'>;
  readonly clock: Pick<Clock, 'sleep'>;
  /** The lanes of this worker, with their speeds. */
  readonly lanes: () => readonly LaneSpeed[];
}

const RETRIES = { firstMs: 500, maxMs: 500 };

/** A job must not fail because Redis is away: the charge is made once it is back. It may be repeated. */
const throughOutages = (
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

/** Rejects with LehrError `rate-limited` when the key of the job owes more than its budget refills in a minute. */
export type ChargeAudio = (run: JobRun, audioS: number) => Promise<void>;

/** Charges a speech job for its audio when it is decoded: the API has priced it by its bytes, which may hold hours of sound. */
export const chargeAudio =
  ({ repricer, clock, lanes }: ChargeOptions): ChargeAudio =>
  async ({ record, lease, signal }, audioS) => {
    const costMs = speechCostMs(audioS, record.queue, lanes());
    // A stale attempt learns about its end elsewhere.
    const repriced = await throughOutages(() => repricer.reprice(record, lease, costMs), clock, signal);
    if (repriced.code !== 'refused') return;
    throw new LehrError(
      'rate-limited',
      `The ${Math.ceil(audioS)} seconds of audio cost about ${seconds(costMs)} engine seconds. This key may spend ` +
        `${seconds(record.payer?.budget_ms ?? 0)} per minute and owes ${seconds(repriced.owedMs)} for earlier jobs.`,
    );
  };

/** To a tenth, so that the budget of a key is shown as it was set. */
const seconds = (ms: number): number => Math.ceil(ms / 100) / 10;

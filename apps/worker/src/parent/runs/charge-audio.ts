/** Charges a speech job for its audio when it is decoded: the API has priced it by its bytes, which may hold hours of sound. */
import { LehrError, speechCostMs } from '@lehr/shared';
import { type ChargeOptions, throughOutages } from './charge.ts';
import type { JobRun } from './job-run.ts';

/** Rejects with LehrError `rate-limited` when the key of the job owes more than its budget refills in a minute. */
export type ChargeAudio = (run: JobRun, audioS: number) => Promise<void>;

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

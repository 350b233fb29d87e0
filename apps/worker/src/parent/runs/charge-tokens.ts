/** Charges a text job for the tokens that the model read: the API has priced it by its characters. */
import { type Log, laneSpeed, textCostMs, toLehrError } from '@lehr/shared';
import { type ChargeOptions, throughOutages } from './charge.ts';
import type { JobRun } from './job-run.ts';

/**
 * Refuses nothing: the work is done, and what its key then owes delays the key's next jobs. A charge that Redis rejects is logged, and the
 * job keeps the price at which it was admitted. Rejects only for a run that was stopped.
 */
export type ChargeTokens = (run: JobRun, tokens: number) => Promise<void>;

export const chargeTokens =
  ({ repricer, clock, lanes, log }: ChargeOptions & { readonly log: Pick<Log, 'error'> }): ChargeTokens =>
  async ({ record, lease, signal, direct }, tokens) => {
    const costMs = textCostMs(tokens, laneSpeed(record.queue, lanes()));
    // Charged with its end.
    if (direct) {
      direct.costMs = costMs;
      return;
    }
    // The charge of a short text is often right, and a round trip counts for it.
    if (costMs === record.cost) return;
    // A stale attempt learns about its end elsewhere.
    try {
      await throughOutages(() => repricer.reprice(record, lease, costMs, { isDone: true }), clock, signal);
    } catch (error) {
      if (signal.aborted) throw error;
      log.error(
        { job: record.id, error: toLehrError(error) },
        'a text job could not be charged for its tokens',
      );
    }
  };

/** When a worker that ended by itself is started again: later after each quick end, and after too many not for some minutes. Pure. */
import { type Backoff, backoffMs } from '@lehr/shared';

export interface RestartPolicy extends Backoff {
  /** A worker that ended sooner after its start did so quickly. */
  readonly quickMs: number;
  /** After so many quick ends in a row the slot rests. */
  readonly budget: number;
  readonly restMs: number;
}

export const RESTARTS: RestartPolicy = {
  firstMs: 500,
  maxMs: 30_000,
  quickMs: 30_000,
  budget: 6,
  restMs: 300_000,
};

export interface SlotHistory {
  /** Quick ends in a row. */
  readonly quickEnds: number;
  /** Nothing is started before, ms. */
  readonly notBefore: number;
  /** The budget is spent. */
  readonly isResting: boolean;
}

export const NO_ENDS: SlotHistory = { quickEnds: 0, notBefore: 0, isResting: false };

/** The history after a worker of this slot ended by itself at `now`, `ranMs` after its start. */
export function afterEnd(
  { quickEnds: before }: SlotHistory,
  { now, ranMs }: { readonly now: number; readonly ranMs: number },
  policy: RestartPolicy = RESTARTS,
): SlotHistory {
  const { quickMs, budget, restMs } = policy;
  const quickEnds = ranMs < quickMs ? before + 1 : 1;
  if (quickEnds >= budget) return { quickEnds: 0, notBefore: now + restMs, isResting: true };
  return { quickEnds, notBefore: now + backoffMs(policy, quickEnds), isResting: false };
}

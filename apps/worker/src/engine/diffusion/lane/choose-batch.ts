/**
 * Chooses the samples of a lane that make the next step. A pure function.
 *
 * Shortest remaining work first: when a lane has more samples than its row cap lets step together, a 4-step sample goes before one with 50
 * steps to go, also when that one has begun. A sample that is left out keeps its latent and continues later, so a pause costs no
 * work. Being left out lowers its rank as if it had fewer steps to go, so that every sample is left out for a bounded number of
 * steps only.
 */

export interface LaneMember {
  readonly rows: number;
  readonly stepsLeft: number;
  /** Of the class interactive: ranked as if it had no step to go. */
  readonly isUrgent?: boolean;
  /** Steps that its lane has made without it. */
  readonly leftOut: number;
  /** The most samples that may step together with it, itself included. */
  readonly maxBatchMates: number;
}

/**
 * A sample that was left out of one step is ranked as if it had this many steps fewer. So shorter samples delay one of n steps by
 * at most about n / LEFT_OUT_STEPS steps.
 */
export const LEFT_OUT_STEPS = 1 / 2;

/**
 * The samples that step now, in order; with equal rank, the order of `members` decides. A sample with more rows than the cap still
 * steps alone, or it would never run. Where a wide sample does not fit, a narrower one may go before it.
 */
export function chooseBatch<Sample extends LaneMember>(members: readonly Sample[], rowCap: number): Sample[] {
  const rank = ({ stepsLeft, isUrgent, leftOut }: Sample): number =>
    (isUrgent ? 0 : stepsLeft) - leftOut * LEFT_OUT_STEPS;
  const batch: Sample[] = [];
  let rows = 0;
  let maxBatchMates = Number.POSITIVE_INFINITY;
  for (const sample of [...members].sort((a, b) => rank(a) - rank(b))) {
    const samples = batch.length + 1;
    const fits = samples === 1 || rows + sample.rows <= rowCap;
    if (!fits || samples > Math.min(maxBatchMates, sample.maxBatchMates)) continue;
    batch.push(sample);
    rows += sample.rows;
    maxBatchMates = Math.min(maxBatchMates, sample.maxBatchMates);
  }
  return batch;
}

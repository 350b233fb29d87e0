/** Estimates when a waiting job will be finished. */

export interface WaitingJob {
  /** Position in the group's queue, from 1. */
  readonly position: number;
  /** Estimated engine ms of the job, and the mean of the jobs ahead of it. */
  readonly costMs: number;
  readonly meanCostMs: number;
  /** Live workers that serve the group. The costs are priced with their measured speed. */
  readonly workers: number;
  /** Samples running in the lanes of the group; on average half of their work is left. */
  readonly running: number;
}

/**
 * Ms from now; null when no worker serves the group. A lower bound when the workers serve other groups too.
 */
export function etaMs({ position, costMs, meanCostMs, workers, running }: WaitingJob): number | null {
  if (workers === 0) return null;
  const aheadMs = (position - 1 + running / 2) * meanCostMs;
  return Math.round(aheadMs / workers + costMs);
}

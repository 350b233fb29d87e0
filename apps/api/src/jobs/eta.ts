/** When a waiting job should be done. */

export interface Line {
  /** The job's place in its group queue, from 1. */
  readonly position: number;
  /** Estimated engine ms of the job, and of the jobs ahead of it on average. */
  readonly costMs: number;
  readonly meanCostMs: number;
  /** Live workers that serve the group; each works the line off at its own speed, which the costs were priced with. */
  readonly workers: number;
  /** Samples in the lanes of the group; on average they have half of their work left. */
  readonly running: number;
}

/**
 * Ms from now; null when no worker serves the group. Assumes that the workers do nothing but this group: jobs of
 * other groups that share them make it later.
 */
export function etaMs({ position, costMs, meanCostMs, workers, running }: Line): number | null {
  if (workers === 0) return null;
  const ahead = (position - 1 + running / 2) * meanCostMs;
  return Math.round(ahead / workers + costMs);
}

/** Estimates when a waiting job will be finished. */

export interface WaitingJob {
  /** Position in the group's queue, from 1. */
  readonly position: number;
  /** Estimated engine ms of the job, and the mean of the jobs ahead of it. */
  readonly costMs: number;
  readonly meanCostMs: number;
  /** Live workers that serve the group. The costs are priced with their measured speed. */
  readonly workers: number;
  /** As of Ahead: what runs on these workers, and what waits in other groups of them. */
  readonly elsewhereMs: number;
  readonly elsewhereGroups: number;
}

/**
 * Ms from now; null when no worker serves the group. Work elsewhere counts as at admission (fair-wait.lua): each other group or lane takes
 * at most as much time as the group of the job, because lanes run side by side.
 */
export function etaMs(job: WaitingJob): number | null {
  const { position, costMs, meanCostMs, workers, elsewhereMs, elsewhereGroups } = job;
  if (workers === 0) return null;
  const aheadMs = (position - 1) * meanCostMs;
  const elsewhere = Math.min(elsewhereMs, elsewhereGroups * (aheadMs + costMs));
  return Math.round((aheadMs + elsewhere) / workers + costMs);
}

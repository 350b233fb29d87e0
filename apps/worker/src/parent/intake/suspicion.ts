/**
 * Protects other jobs from a job that ends its whole worker. An attempt that ends with its worker is counted for every job that
 * the worker had, and the worker cannot say which job was the cause. So a job that was started before runs beside fewer jobs at
 * each further attempt, and at last alone: the cause fails, and the others finish.
 *
 * crash-suspects.ts does the same for jobs that end only the engine, where the worker knows which samples ran.
 */

/** How many jobs a worker may have, a job with this attempt included. Hand-backs are no attempts. */
function mostJobsBeside(attempt: number): number {
  if (attempt <= 1) return Number.POSITIVE_INFINITY;
  return attempt === 2 ? 4 : attempt === 3 ? 2 : 1;
}

/** The fewest that any of these attempts allows. */
export const mostJobs = (attempts: readonly number[]): number =>
  Math.min(Number.POSITIVE_INFINITY, ...attempts.map(mostJobsBeside));

/**
 * How many of the jobs that were just claimed may run beside the active ones; at least one, or two workers could pass such
 * jobs to each other without end.
 */
export function jobsToKeep(claimed: readonly number[], active: readonly number[]): number {
  return Math.max(1, mostJobs([...claimed, ...active]) - active.length);
}

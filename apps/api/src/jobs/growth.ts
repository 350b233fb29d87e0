/** Whether a job is judged by the workers that there are, or by those that there will be. Pure. */
import type { Expected } from '../fleet/expected-workers.ts';

export interface Growth {
  readonly workers: number;
  /** Until they serve. */
  readonly startMs: number;
}

/**
 * Undefined: by those that there are. They can begin `live` times `limitMs` of engine time within the limit, and the workers of a grown
 * fleet theirs after a start. Without a live worker only the grown fleet counts.
 */
export function growthOf(expected: Expected | undefined, live: number, limitMs: number): Growth | undefined {
  if (!expected) return undefined;
  if (live === 0) return { workers: expected.workers, startMs: expected.readyInMs };
  const { workers, startMs } = expected;
  return workers * (limitMs - startMs) > live * limitMs ? { workers, startMs } : undefined;
}

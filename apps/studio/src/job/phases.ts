/** The parts of a job's time, for the bar. Pure. */
import type { JobMetrics } from '@lehr/client';

export interface Phase {
  readonly name: string;
  readonly ms: number;
  /** Of the whole, from 0 to 1. */
  readonly share: number;
}

/** In the order in which they happen, as the API lists them. */
export function phasesOf({ timings, total_ms }: Pick<JobMetrics, 'timings' | 'total_ms'>): Phase[] {
  const total = Math.max(total_ms, 1e-9);
  return Object.entries(timings as Readonly<Record<string, number>>).map(([name, ms]) => ({
    name,
    ms,
    share: ms / total,
  }));
}

/** What a measurement means for a job, and which of two measurements is better for a goal. */

const GOALS = ['throughput', 'latency', 'memory'] as const;
export type Goal = (typeof GOALS)[number];

/** One candidate, measured. */
interface Measured {
  readonly step: Durations;
  readonly perJobMs: number;
  readonly residentBytes: number;
}

/** A job as the search assumes it. */
export interface UsualJob {
  /** Two for a picture with guidance. */
  readonly rows: number;
  /** Steps of a picture, or tokens of a window; of a text the part of a step that one run is. */
  readonly steps: number;
}

export interface JobFigures {
  /** Pictures, windows or texts per second when batches are full. */
  readonly jobsPerS: number;
  /** The 95th percentile of a step, times the steps, for a job in a full batch: ms. */
  readonly jobMs: number;
  readonly residentBytes: number;
}

export function figuresOf(
  rowCap: number,
  { step, perJobMs, residentBytes }: Measured,
  job: UsualJob,
): JobFigures {
  const jobs = Math.max(1, Math.floor(rowCap / job.rows));
  const batchMs = job.steps * step.medianMs + jobs * perJobMs;
  return { jobsPerS: (1000 * jobs) / batchMs, jobMs: job.steps * step.p95Ms + perJobMs, residentBytes };
}

/** Lower is better. */
export function scoreOf(goal: Goal, { jobsPerS, jobMs, residentBytes }: JobFigures): number {
  switch (goal) {
    case 'throughput':
      return 1 / jobsPerS;
    case 'latency':
      return jobMs;
    case 'memory':
      return residentBytes;
  }
}

interface Durations {
  readonly medianMs: number;
  readonly p95Ms: number;
}

/** Median and 95th percentile (nearest rank) of at least one duration. */
export function durationsOf(durations: readonly number[]): Durations {
  const sorted = [...durations].sort((a, b) => a - b);
  const at = (share: number): number => sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)];
  return { medianMs: at(0.5), p95Ms: at(0.95) };
}

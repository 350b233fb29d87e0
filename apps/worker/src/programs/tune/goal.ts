/** What a measurement means for a job, and which of two measurements is better for a goal. */
import { timesAt } from './arrivals.ts';

const GOALS = ['throughput', 'latency', 'memory'] as const;
export type Goal = (typeof GOALS)[number];

/** One candidate, measured. */
interface Measured {
  readonly step: Durations;
  /** Of steps with fewer rows in the same session, by increasing rows: [rows, ms]. */
  readonly fewer?: readonly (readonly [rows: number, ms: number])[];
  readonly perJobMs: number;
  readonly residentBytes: number;
}

/** A job as the search assumes it. */
export interface UsualJob {
  /** Two for a picture with guidance. */
  readonly rows: number;
  /** Steps of a picture, or tokens of a window; of a text the part of a step that one run is. */
  readonly steps: number;
  /** When jobs arrive, in ms; absent where all that a candidate can do is wanted. */
  readonly arrivals?: readonly number[];
}

export interface JobFigures {
  /** Pictures, windows or texts per second when batches are full. */
  readonly jobsPerS: number;
  /** The 95th percentile of a step, times the steps, for a job in a full batch: ms. With arrivals, that of all jobs, with their waiting. */
  readonly jobMs: number;
  /** Of all workers together. */
  readonly residentBytes: number;
}

export function figuresOf(rowCap: number, workers: number, measured: Measured, job: UsualJob): JobFigures {
  const { step, perJobMs, residentBytes } = measured;
  const jobs = Math.max(1, Math.floor(rowCap / job.rows));
  const batchMs = job.steps * step.medianMs + jobs * perJobMs;
  return {
    jobsPerS: (1000 * workers * jobs) / batchMs,
    jobMs: job.arrivals
      ? jobMsAt(job.arrivals, rowCap, workers, measured, job)
      : job.steps * step.p95Ms + perJobMs,
    residentBytes,
  };
}

function jobMsAt(
  arrivals: readonly number[],
  rowCap: number,
  workers: number,
  { step, fewer = [], perJobMs }: Measured,
  job: UsualJob,
): number {
  const known = [...fewer, [rowCap, step.medianMs] as const];
  // A step of a text model is several runs.
  const steps = Math.max(1, job.steps);
  const share = job.steps / steps;
  const stepMs = (jobs: number): number => share * between(known, jobs * job.rows);
  const room = Math.max(1, Math.floor(rowCap / job.rows));
  return durationsOf(timesAt(arrivals, { room, workers, steps, perJobMs, stepMs })).p95Ms;
}

/** Between two measured row counts, the time grows in proportion. */
function between(known: readonly (readonly [rows: number, ms: number])[], rows: number): number {
  const above = known.findIndex(([each]) => each >= rows);
  const [high, highMs] = known[above < 0 ? known.length - 1 : above];
  const [low, lowMs] = known[Math.max(0, above - 1)];
  return above <= 0 || high === low ? highMs : lowMs + ((highMs - lowMs) * (rows - low)) / (high - low);
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

/** Measures a graph at the warm-up: the duration of a run at each rung of the row ladder, for as long as more rows increase the throughput. */
import type { Clock } from '@lehr/shared';
import { ROW_LADDER, type RowCap, worthWidening } from './row-cap.ts';

/** The ladder stops after this time; the rest is measured while serving. */
const BUDGET_MS = 60_000;
/** A rung is measured this often while its runs are short: one disturbed run looks like a device that is fully used. */
const RUNS = 5;
/** Then and in any case twice: the first measured run of a shape still sets up its memory. */
const LEAST_RUNS = 2;
/** Measured runs of a rung that together take this long are enough. */
const ENOUGH_MS = 500;

export interface Climb {
  readonly clock: Clock;
  /** Runs the graph once with so many rows. */
  readonly run: (rows: number) => Promise<unknown>;
  /** Row counts to measure, in increasing order. */
  readonly rungs?: readonly number[];
  /** Doublings without more throughput after which the ladder ends. Each takes the memory of twice the rows. */
  readonly patience?: number;
}

/** Rejects when the first rung fails; another one that fails exceeds the device's memory, and lowers the cap's ceiling. */
export async function climbLadder(
  cap: RowCap,
  { clock, run, rungs = ROW_LADDER, patience }: Climb,
): Promise<void> {
  const startedAt = clock.monotonic();
  for (const rows of rungs) {
    const isOverBudget = clock.monotonic() - startedAt > BUDGET_MS;
    if (isOverBudget || rows > cap.ceiling || !worthWidening(cap.measurements, patience)) break;
    try {
      // The first run of a shape allocates and, on some providers, tunes.
      await run(rows);
      cap.measure(rows, await fastestRun(clock, () => run(rows)));
      await compareAnew(cap, rows, (each) => fastestRun(clock, () => run(each)));
    } catch (error) {
      if (rows === rungs[0]) throw error;
      cap.limit(rows / 2);
      break;
    }
  }
}

/** Measures again, beside the last rung, the rungs that are better than it: the device may have become slower since, for all row counts. */
async function compareAnew(
  cap: RowCap,
  lastRung: number,
  measure: (rows: number) => Promise<number>,
): Promise<void> {
  const compared = new Set([lastRung]);
  for (let best = fastest(cap.measurements); !compared.has(best); best = fastest(cap.measurements)) {
    cap.measure(best, await measure(best));
    compared.add(best);
  }
}

/** The row count with the highest throughput. */
const fastest = (measurements: RowCap['measurements']): number =>
  measurements.reduce((best, each) => (each[0] / each[1] > best[0] / best[1] ? each : best))[0];

/** Ms of the fastest of several runs, which is the least disturbed. */
async function fastestRun(clock: Clock, run: () => Promise<unknown>): Promise<number> {
  const taken: number[] = [];
  const startedAt = clock.monotonic();
  while (taken.length < LEAST_RUNS || (taken.length < RUNS && clock.monotonic() - startedAt < ENOUGH_MS)) {
    const measuredFrom = clock.monotonic();
    await run();
    taken.push(clock.monotonic() - measuredFrom);
  }
  return Math.min(...taken);
}

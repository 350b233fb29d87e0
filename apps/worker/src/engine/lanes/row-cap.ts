/**
 * The most rows that a step should have, measured on the device.
 *
 * Batching increases the throughput until the device is fully used. Past that knee more rows only make every step longer:
 * a T4 gains 4 % from 4 to 16 rows of SD1.5 at 512x512, and each step takes four times as long. So the cap is the fewest
 * rows whose throughput is within TOLERANCE of the best measured.
 */
import type { Clock } from '@lehr/shared';

/** Row counts measured at warm-up, and the ones that runs are padded to on providers that tune per shape. */
export const ROW_LADDER: readonly number[] = [1, 2, 4, 8, 16, 32];
export const WIDEST = ROW_LADDER[ROW_LADDER.length - 1];
/** Providers that compile or tune for every new shape. */
const TUNES_PER_SHAPE = new Set(['cuda', 'tensorrt', 'webgpu']);
/** The row counts that runs on this provider are padded to; empty for none. */
export const ladderFor = (provider: string): readonly number[] =>
  TUNES_PER_SHAPE.has(provider) ? ROW_LADDER : [];
/** The share of the best throughput that a smaller cap may give up. */
const TOLERANCE = 0.03;
/** Weight of a new measurement against the earlier ones of that row count: the load of a shared host varies. */
const SMOOTHING = 0.1;
/**
 * Steps of a new row count that are not measured: the first one allocates and, on some providers, tunes; in the second one ONNX Runtime
 * allocates again, by the memory pattern of the first.
 */
const SETTLING = 2;
/** After this many steps the row counts above the cap are tried again. */
const REVISIT_AFTER = 500;

interface RowCapOptions {
  /** The cap never exceeds it. */
  readonly ceiling?: number;
  /** The cap is always the ceiling, because the operator set it. */
  readonly fixed?: boolean;
  /** The cap until something is measured. */
  readonly guess?: number;
}

export class RowCap {
  readonly #msByRows = new Map<number, number>();
  readonly #fixed: boolean;
  #guess: number;
  #ceiling: number;
  #steps = 0;
  /** Steps of a row count that are still not measured. */
  readonly #unsettled = new Map<number, number>();

  constructor({ ceiling = WIDEST, fixed = false, guess = ceiling }: RowCapOptions = {}) {
    this.#ceiling = ceiling;
    this.#fixed = fixed;
    this.#guess = guess;
  }

  /** The upper limit of the cap. */
  get ceiling(): number {
    return this.#ceiling;
  }

  get rows(): number {
    if (this.#fixed) return this.#ceiling;
    const measured = this.measurements;
    const cap = knee(measured);
    const isStillGaining = cap === measured.at(-1)?.[0];
    // The widest measured batch is the best one: one twice as wide may be better still.
    return Math.min(this.#ceiling, isStillGaining ? Math.max(this.#guess, 2 * (cap ?? 0)) : (cap ?? 1));
  }

  /** By increasing row count: [rows, ms of one step]. */
  get measurements(): [rows: number, ms: number][] {
    return [...this.#msByRows].sort(([a], [b]) => a - b);
  }

  /** Records what the warm-up measured. */
  measure(rows: number, ms: number): void {
    this.#unsettled.set(rows, 0);
    this.#msByRows.set(rows, ms);
  }

  /** Records the duration of a step, unless it is one of the first with so many rows. */
  observe(rows: number, ms: number): void {
    const unsettled = this.#unsettled.get(rows) ?? SETTLING;
    if (unsettled > 0) {
      this.#unsettled.set(rows, unsettled - 1);
      return;
    }
    const known = this.#msByRows.get(rows);
    this.#msByRows.set(rows, known === undefined ? ms : known + SMOOTHING * (ms - known));
    if (++this.#steps % REVISIT_AFTER === 0) this.#forgetWider();
  }

  /** Deletes outdated measurements above the cap, so that the next wider batch is tried again. */
  #forgetWider(): void {
    const cap = this.rows;
    this.#guess = 0;
    for (const rows of this.#msByRows.keys()) if (rows > cap) this.#msByRows.delete(rows);
  }

  /** Lowers the ceiling permanently: more rows do not fit into the device's memory. */
  limit(rows: number): void {
    this.#ceiling = Math.max(1, Math.min(this.#ceiling, rows));
  }

  /** A cap for another latent shape of the same model: starts at this cap and measures for itself. */
  forAnotherShape(): RowCap {
    return new RowCap({ ceiling: this.#ceiling, fixed: this.#fixed, guess: this.rows });
  }
}

/** The fewest rows whose throughput is within `tolerance` of the best; undefined without measurements. */
export function knee(
  measurements: readonly (readonly [rows: number, ms: number])[],
  tolerance = TOLERANCE,
): number | undefined {
  const throughput = measurements.map(([rows, ms]) => rows / ms);
  const wanted = Math.max(...throughput) * (1 - tolerance);
  return measurements[throughput.findIndex((each) => each >= wanted)]?.[0];
}

/**
 * Whether to measure the next rung of the ladder: until `patience` doublings in a row did not increase the best throughput. With two, one
 * may be a measurement that another program disturbed.
 */
export function worthWidening(
  measurements: readonly (readonly [rows: number, ms: number])[],
  patience = 2,
): boolean {
  if (measurements.length <= patience) return true;
  const throughput = measurements.map(([rows, ms]) => rows / ms);
  const best = Math.max(...throughput.slice(0, -patience));
  return Math.max(...throughput.slice(-patience)) > best * (1 + TOLERANCE);
}

/** The ladder stops after this time; the rest is measured while serving. */
const BUDGET_MS = 60_000;
/** A rung is measured this often while its runs are short: one disturbed run looks like a device that is fully used. */
const RUNS = 5;
/** Then and in any case twice: the first measured run of a shape still sets up its memory. */
const LEAST_RUNS = 2;
/** Measured runs of a rung that together take this long are enough. */
const ENOUGH_MS = 500;

interface Climb {
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

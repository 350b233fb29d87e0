/**
 * How many rows a step should have at most, learned from the device itself.
 *
 * Batching helps until the device is busy with one row after the other; past that knee more rows only make every step
 * longer for everybody (a T4 gains 4 % from 4 to 16 rows of SD1.5 at 512x512, and each step takes four times as long).
 * So: the fewest rows whose throughput is within TOLERANCE of the best seen.
 */

/** Rows tried at warm-up; also the shapes that providers tuning per shape are padded to. */
export const ROW_LADDER: readonly number[] = [1, 2, 4, 8, 16, 32];
/** A cap may give away this share of the best throughput. */
const TOLERANCE = 0.03;
/** Weight of a new measurement against what was known for that row count: neighbours come and go on a shared host. */
const SMOOTHING = 0.1;

export class RowCap {
  readonly #msByRows = new Map<number, number>();
  readonly #limit: number;

  constructor(limit = ROW_LADDER[ROW_LADDER.length - 1]) {
    this.#limit = limit;
  }

  /** Notes that a step of so many rows took so long. */
  observe(rows: number, ms: number): void {
    const known = this.#msByRows.get(rows);
    this.#msByRows.set(rows, known === undefined ? ms : known + SMOOTHING * (ms - known));
  }

  /** What is known, by rising row count: [rows, ms of one step]. */
  get measurements(): [rows: number, ms: number][] {
    return [...this.#msByRows].sort(([a], [b]) => a - b);
  }

  get rows(): number {
    return Math.min(this.#limit, knee(this.measurements) ?? this.#limit);
  }
}

/** The fewest rows whose throughput comes within TOLERANCE of the best; undefined without measurements. */
export function knee(measurements: readonly (readonly [rows: number, ms: number])[]): number | undefined {
  const throughput = measurements.map(([rows, ms]) => rows / ms);
  const wanted = Math.max(...throughput) * (1 - TOLERANCE);
  return measurements[throughput.findIndex((each) => each >= wanted)]?.[0];
}

/** Whether measuring the next, wider rung of the ladder is worth it: the last doubling still gained something. */
export function worthWidening(measurements: readonly (readonly [rows: number, ms: number])[]): boolean {
  if (measurements.length < 2) return true;
  const [before, last] = measurements.slice(-2).map(([rows, ms]) => rows / ms);
  return last > before * (1 + TOLERANCE);
}

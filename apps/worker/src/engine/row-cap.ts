/**
 * How many rows a step should have at most, learned from the device itself.
 *
 * Batching helps until the device is busy with one row after the other; past that knee more rows only make every step
 * longer for everybody (a T4 gains 4 % from 4 to 16 rows of SD1.5 at 512x512, and each step takes four times as long).
 * So: the fewest rows whose throughput is within TOLERANCE of the best seen.
 */

/** Rows tried at warm-up; also the shapes that providers tuning per shape are padded to. */
export const ROW_LADDER: readonly number[] = [1, 2, 4, 8, 16, 32];
const WIDEST = ROW_LADDER[ROW_LADDER.length - 1];
/** Providers that compile or tune for every new shape. */
const TUNES_PER_SHAPE = new Set(['cuda', 'tensorrt', 'webgpu']);
/** The row counts that runs on this provider are filled up to; empty for any. */
export const ladderFor = (provider: string): readonly number[] =>
  TUNES_PER_SHAPE.has(provider) ? ROW_LADDER : [];
/** A cap may give away this share of the best throughput. */
const TOLERANCE = 0.03;
/** Weight of a new measurement against what was known for that row count: neighbours come and go on a shared host. */
const SMOOTHING = 0.1;
/** Steps after which the batch sizes above the cap are given another chance. */
const REVISIT_AFTER = 500;

export interface RowCapOptions {
  /** Never more rows than this. */
  readonly ceiling?: number;
  /** The operator chose: always the ceiling, whatever is measured. */
  readonly fixed?: boolean;
  /** Rows to allow until something is measured. */
  readonly guess?: number;
}

export class RowCap {
  readonly #msByRows = new Map<number, number>();
  readonly #fixed: boolean;
  #guess: number;
  #ceiling: number;
  #steps = 0;

  constructor({ ceiling = WIDEST, fixed = false, guess = ceiling }: RowCapOptions = {}) {
    this.#ceiling = ceiling;
    this.#fixed = fixed;
    this.#guess = guess;
  }

  /** The most rows there may ever be. */
  get ceiling(): number {
    return this.#ceiling;
  }

  get rows(): number {
    if (this.#fixed) return this.#ceiling;
    const measured = this.measurements;
    const cap = knee(measured);
    const isStillGaining = cap === measured.at(-1)?.[0];
    // The widest batch seen so far is the best one: twice as wide may be better still.
    return Math.min(this.#ceiling, isStillGaining ? Math.max(this.#guess, 2 * (cap ?? 0)) : (cap ?? 1));
  }

  /** What is known, by rising row count: [rows, ms of one step]. */
  get measurements(): [rows: number, ms: number][] {
    return [...this.#msByRows].sort(([a], [b]) => a - b);
  }

  /** Notes that a step of so many rows took so long. */
  observe(rows: number, ms: number): void {
    const known = this.#msByRows.get(rows);
    this.#msByRows.set(rows, known === undefined ? ms : known + SMOOTHING * (ms - known));
    if (++this.#steps % REVISIT_AFTER === 0) this.#forgetWider();
  }

  /** What was measured above the cap grows old; without it the next wider batch is tried again. */
  #forgetWider(): void {
    const cap = this.rows;
    this.#guess = 0;
    for (const rows of this.#msByRows.keys()) if (rows > cap) this.#msByRows.delete(rows);
  }

  /** More rows than this do not fit on the device: not tried again. */
  limit(rows: number): void {
    this.#ceiling = Math.max(1, Math.min(this.#ceiling, rows));
  }

  /** A cap for another latent shape of the same model: starts from this one and learns its own. */
  forAnotherShape(): RowCap {
    return new RowCap({ ceiling: this.#ceiling, fixed: this.#fixed, guess: this.rows });
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

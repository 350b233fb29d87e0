/** What became faster or slower since the run before, beyond the noise of both. */
import { percentile, type Row } from './harness.ts';
import type { BenchResult } from './results.ts';

export interface Change {
  readonly bench: string;
  readonly name: string;
  readonly unit: string;
  readonly before: number;
  readonly after: number;
  /** `other` for a figure without a target: nothing says which direction is good. */
  readonly kind: 'better' | 'worse' | 'other';
}

/** A simulated figure is computed, so any difference is one of the code. */
const EXACT = 0.001;
/** Below this, no difference of two runs on a machine with other work is worth a look. */
const LEAST = 0.03;
/** Of the standard error of the difference. */
const ERRORS = 3;

export function changesOf(results: readonly BenchResult[]): Change[] {
  return results.flatMap(({ bench, rows, previous }) =>
    rows.flatMap((row) => {
      const before = previous?.rows.find(({ name }) => name === row.name);
      return before && differs(before, row)
        ? [
            {
              bench,
              name: row.name,
              unit: row.sides ? '' : row.unit,
              before: before.value,
              after: row.value,
              kind: kindOf(before, row),
            },
          ]
        : [];
    }),
  );
}

function kindOf(before: Row, { value, target }: Row): Change['kind'] {
  if (target === undefined) return 'other';
  return 'atLeast' in target === value > before.value ? 'better' : 'worse';
}

export function differs(before: Row, after: Row): boolean {
  const difference = Math.abs(after.value - before.value);
  const size = Math.abs(before.value);
  if (after.device !== undefined) return difference > EXACT * size;
  const error = Math.hypot(errorOf(before), errorOf(after));
  return difference > Math.max(LEAST * size, ERRORS * error);
}

/** The standard error of a median of rounds, from their median absolute deviation; of one round nothing is known, so half of it. */
function errorOf({ value, rounds = [] }: Row): number {
  if (rounds.length < 3) return Math.abs(value) / 2 / ERRORS;
  const middle = percentile(rounds, 50);
  const deviation = percentile(
    rounds.map((round) => Math.abs(round - middle)),
    50,
  );
  // 1.4826 makes a standard deviation of it, 1.2533 is what a median is worse than a mean.
  return (1.4826 * 1.2533 * deviation) / Math.sqrt(rounds.length);
}

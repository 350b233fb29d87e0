/** Numbers of a device run: differences of results, and times with their spread. */

export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
  readonly count: number;
}

export function spreadOf(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const median = sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  return { median, min: sorted[0], max: sorted[sorted.length - 1], count: sorted.length };
}

export interface Difference {
  /** The largest difference at one index. */
  readonly largest: number;
  /** The length of the difference, relative to the length of `wanted`. */
  readonly relative: number;
  readonly equalBits: boolean;
}

export function differenceOf(values: ArrayLike<number>, wanted: ArrayLike<number>): Difference {
  if (values.length !== wanted.length) throw new Error(`${values.length} values, wanted ${wanted.length}`);
  let largest = 0;
  let difference = 0;
  let length = 0;
  for (let i = 0; i < wanted.length; i++) {
    const each = Math.abs(values[i] - wanted[i]);
    if (!(each <= largest)) largest = each;
    difference += each ** 2;
    length += wanted[i] ** 2;
  }
  return { largest, relative: Math.sqrt(difference / length), equalBits: largest === 0 };
}

/** The worst of several. */
export const worstOf = (all: readonly Difference[]): Difference => ({
  largest: Math.max(...all.map(({ largest }) => largest)),
  relative: Math.max(...all.map(({ relative }) => relative)),
  equalBits: all.every(({ equalBits }) => equalBits),
});

/** Runs each part and keeps the error of one that fails, so that one failure does not hide the other results. */
export async function orError<T>(work: () => Promise<T>): Promise<T | { readonly error: string }> {
  try {
    return await work();
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

/** The Box-Muller transform as torch's CPU generator applies it, 16 values at a time. */

/** torch fills tensors of at least this length in blocks of this size. */
export const BLOCK = 16;
const HALF_BLOCK = BLOCK / 2;
const TWO_PI = Math.fround(2 * Math.PI);

const QUARTER = Math.PI / 2;
const QUARTERS_PER_RADIAN = 2 / Math.PI;
/** Cosine and sine of whole quarter turns, from none to four. */
const QUARTER_COSINES = Float64Array.of(1, 0, -1, 0, 1);
const QUARTER_SINES = Float64Array.of(0, 1, 0, -1, 0);

/**
 * Makes 16 standard normal values out of the uniform ones in [0, 1) at `out[at]`, in place: value i of the block's first half pairs
 * with value i of its second. torch computes in float32 here; rounding at the same places reduces the largest difference from 9e-7
 * to 2.4e-7.
 *
 * Cosine and sine come from their Taylor series, because Math.cos and Math.sin took almost half of a draw's time. The angle is
 * at most an eighth of a turn from a whole number of quarters, where the terms that are left out are below 4e-13: float32 has
 * 6e-8.
 */
export function normalBlock(out: Float32Array, at: number): void {
  for (let i = at; i < at + HALF_BLOCK; i++) {
    const radius = Math.fround(Math.sqrt(Math.fround(-2 * Math.fround(Math.log(1 - out[i])))));
    const angle = Math.fround(TWO_PI * out[i + HALF_BLOCK]);
    // `| 0` rounds down and keeps the number an integer.
    const quarters = (angle * QUARTERS_PER_RADIAN + 0.5) | 0;
    const rest = angle - quarters * QUARTER;
    const cosine = cosineOf(rest);
    const sine = sineOf(rest);
    out[i] = radius * (QUARTER_COSINES[quarters] * cosine - QUARTER_SINES[quarters] * sine);
    out[i + HALF_BLOCK] = radius * (QUARTER_SINES[quarters] * cosine + QUARTER_COSINES[quarters] * sine);
  }
}

/** For -pi/4 to pi/4. */
function cosineOf(angle: number): number {
  const z = angle * angle;
  const high = 1 / 40320 + z * (-1 / 3628800 + z / 479001600);
  return 1 + z * (-1 / 2 + z * (1 / 24 + z * (-1 / 720 + z * high)));
}

/** For -pi/4 to pi/4. */
function sineOf(angle: number): number {
  const z = angle * angle;
  const high = 1 / 362880 + z * (-1 / 39916800 + z / 6227020800);
  return angle * (1 + z * (-1 / 6 + z * (1 / 120 + z * (-1 / 5040 + z * high))));
}

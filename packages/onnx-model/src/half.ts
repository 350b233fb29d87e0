/** IEEE 754 half precision: float16 as raw bits in a Uint16Array, the form of ONNX Runtime's tensors. */

const floatView = new Float32Array(1);
const bitsView = new Uint32Array(floatView.buffer);

/** The nearest half, ties to even; infinity from 65520 on; a NaN stays a NaN. */
function toHalfBits(value: number): number {
  floatView[0] = value;
  const bits = bitsView[0];
  const sign = (bits >>> 16) & 0x8000;
  const magnitude = bits & 0x7fffffff;
  if (magnitude >= 0x47800000) return magnitude > 0x7f800000 ? sign | 0x7e00 : sign | 0x7c00;
  if (magnitude >= 0x38800000) {
    // Normal: changes the exponent's bias by 127 - 15, then rounds 13 bits off. A carry into the exponent is correct.
    const rebased = magnitude - 0x38000000;
    return sign | ((rebased + 0xfff + ((rebased >>> 13) & 1)) >>> 13);
  }
  // Subnormal or zero: a multiple of 2^-24. Adding 0.5 makes float32 round to such a multiple, ties to even.
  floatView[0] = Math.abs(floatView[0]) + 0.5;
  return sign | (bitsView[0] - 0x3f000000);
}

function fromHalfBits(half: number): number {
  const sign = half & 0x8000 ? -1 : 1;
  const exponent = (half >>> 10) & 0x1f;
  const fraction = half & 0x3ff;
  if (exponent === 0x1f) return fraction ? Number.NaN : sign * Number.POSITIVE_INFINITY;
  return exponent === 0 ? sign * fraction * 2 ** -24 : sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

let floatOfHalf: Float32Array | undefined;

/** All 65,536 values: a lookup is several times faster than the computation. */
function halfTable(): Float32Array {
  floatOfHalf ??= Float32Array.from({ length: 0x10000 }, (_, half) => fromHalfBits(half));
  return floatOfHalf;
}

/** The value of each of the 65,536 halves, by its bits; shared, and must not be changed. */
export const halfValues = (): Float32Array => halfTable();

/** Rounds to nearest, ties to even. Writes into `out` when given, which may be longer. */
export function toFloat16(values: ArrayLike<number>, out = new Uint16Array(values.length)): Uint16Array {
  if (values instanceof Float32Array) {
    const bits = new Int32Array(values.buffer, values.byteOffset, values.length);
    const last = bits.length - 1;
    if (last % 2 === 0) out[last] = toHalfBits(values[last]);
    writeHalves(bits, values, out);
    return out;
  }
  for (let i = 0; i < values.length; i += 1) out[i] = toHalfBits(values[i]);
  return out;
}

/** The float32 bits of the smallest normal half. */
const SMALLEST_NORMAL = 0x38800000;

/**
 * As toHalfBits, without its detour through memory for the bits of values whose halves are normal numbers. Latents are almost always
 * normal, but half of all rows of a picture hold a value that is not: only such values take the longer way. Two values are read before
 * one is written, and each branch writes its own result: V8 then takes half the time. The last of an odd number of values is left to
 * the caller: V8 compiles the loop in the first call, and leaves the compiled code where anything follows that has not run by then.
 */
function writeHalves(bits: Int32Array, values: Float32Array, out: Uint16Array): void {
  const even = bits.length & ~1;
  for (let i = 0; i < even; i += 2) {
    const first = bits[i];
    const second = bits[i + 1];
    if (isNormalHalf(first)) out[i] = roundNormal(first);
    else out[i] = toHalfBits(values[i]);
    if (isNormalHalf(second)) out[i + 1] = roundNormal(second);
    else out[i + 1] = toHalfBits(values[i + 1]);
  }
}

/** One comparison for both ends, because a magnitude that is too small becomes a large unsigned number. */
const isNormalHalf = (bits: number): boolean =>
  ((bits & 0x7fffffff) - SMALLEST_NORMAL) >>> 0 < 0x47800000 - SMALLEST_NORMAL;

/** As in toHalfBits; a magnitude of 65520 or more becomes infinity by the carry. */
const roundNormal = (bits: number): number => {
  const above = (bits & 0x7fffffff) - SMALLEST_NORMAL;
  return ((bits >> 16) & 0x8000) | ((above + 0x00800fff + ((above >> 13) & 1)) >> 13);
};

/** Exact: every half is a float32. Writes into `out` when given: a new array of this size costs more than the conversion. */
export function toFloat32(
  halves: Uint16Array,
  out: Float32Array = new Float32Array(halves.length),
): Float32Array {
  const table = halfTable();
  for (let i = 0; i < halves.length; i += 1) out[i] = table[halves[i]];
  return out;
}

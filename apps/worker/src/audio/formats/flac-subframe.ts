import type { BitReader } from './bits.ts';

/** Coefficients of the four fixed predictors, latest sample first. RFC 9639, 9.2.5. */
const FIXED = [[], [1], [2, -1], [3, -3, 1], [4, -6, 4, -1]];

/**
 * One channel of a frame, as whole numbers: fills `out`. False when the bits cannot be a subframe. RFC 9639, 9.2.
 */
export function readSubframe(bits: BitReader, out: Float64Array, bitsPerSample: number): boolean {
  if (bits.read(1) === 1) return false;
  const type = bits.read(6);
  const wasted = bits.read(1) === 1 ? bits.readUnary() + 1 : 0;
  const width = bitsPerSample - wasted;
  if (width < 1) return false;
  if (!readSamples(bits, out, type, width)) return false;
  if (wasted > 0) for (let i = 0; i < out.length; i++) out[i] *= 2 ** wasted;
  return true;
}

function readSamples(bits: BitReader, out: Float64Array, type: number, width: number): boolean {
  if (type === 0) {
    out.fill(bits.readSigned(width));
    return true;
  }
  if (type === 1) {
    for (let i = 0; i < out.length && !bits.overrun; i++) out[i] = bits.readSigned(width);
    return !bits.overrun;
  }
  const isFixed = type >= 8 && type <= 12;
  if (!isFixed && type < 32) return false;
  const order = isFixed ? type - 8 : type - 31;
  if (order > out.length) return false;
  for (let i = 0; i < order; i++) out[i] = bits.readSigned(width);
  if (isFixed) return readResidual(bits, out, order) && predict(out, FIXED[order], 0);
  const precision = bits.read(4) + 1;
  const shift = bits.readSigned(5);
  if (precision === 16 || shift < 0) return false;
  const coefficients = Array.from({ length: order }, () => bits.readSigned(precision));
  return readResidual(bits, out, order) && predict(out, coefficients, shift);
}

/** Adds to every residual what the samples before it foretell. Sums stay below 2^53: 33 + 15 + 5 bits. */
function predict(out: Float64Array, coefficients: readonly number[], shift: number): true {
  const order = coefficients.length;
  const latestFirst = Float64Array.from(coefficients);
  const scale = 2 ** -shift;
  for (let i = order; i < out.length; i++) {
    let sum = 0;
    for (let j = 0; j < order; j++) sum += latestFirst[j] * out[i - 1 - j];
    out[i] += Math.floor(sum * scale);
  }
  return true;
}

/** What the predictor missed, in Rice codes of 2^n partitions, each with its own parameter. RFC 9639, 9.2.7. */
function readResidual(bits: BitReader, out: Float64Array, order: number): boolean {
  const method = bits.read(2);
  if (method > 1) return false;
  const parameterBits = 4 + method;
  const uncoded = 2 ** parameterBits - 1;
  const partitions = 2 ** bits.read(4);
  const length = out.length / partitions;
  if (!Number.isInteger(length) || length < order) return false;
  for (let p = 0; p < partitions; p++) {
    const from = p === 0 ? order : p * length;
    const to = (p + 1) * length;
    const parameter = bits.read(parameterBits);
    if (parameter === uncoded) {
      const width = bits.read(5);
      for (let i = from; i < to; i++) out[i] = width === 0 ? 0 : bits.readSigned(width);
    } else {
      for (let i = from; i < to; i++) out[i] = bits.readRice(parameter);
    }
    if (bits.overrun) return false;
  }
  return true;
}

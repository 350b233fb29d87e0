/** Tensors as plain data: a type, dimensions and one flat typed array, row-major. */
import { toFloat16, toFloat32 } from '@lehr/onnx-model';

interface TensorData {
  float32: Float32Array;
  /** IEEE 754 half precision, as raw bits. */
  float16: Uint16Array;
  int64: BigInt64Array;
  int32: Int32Array;
  bool: Uint8Array;
}

export type ElementType = keyof TensorData;

/** A tensor of any element type, or of the named ones. */
export type Tensor<Type extends ElementType = ElementType> = {
  [T in Type]: { readonly type: T; readonly data: TensorData[T]; readonly dims: readonly number[] };
}[Type];

export const FLOAT_TYPES = ['float32', 'float16'] as const;
export type FloatType = (typeof FLOAT_TYPES)[number];

/** How many elements these dimensions hold; 1 for a scalar. */
export const elementCount = (dims: readonly number[]): number =>
  dims.reduce((product, dim) => product * dim, 1);

/** The given values as a tensor of a graph's float type. float32 values are not copied. */
export function floatTensor(
  type: FloatType,
  values: Float32Array,
  dims: readonly number[],
): Tensor<FloatType> {
  return type === 'float32' ? { type, data: values, dims } : { type, data: toFloat16(values), dims };
}

/**
 * The values of a float tensor as float32. float32 values are not copied; float16 values are converted into `out`, when given, which
 * is as long as the tensor. Throws TypeError for other types.
 */
export function floatValues(tensor: Tensor, out?: Float32Array): Float32Array {
  if (tensor.type === 'float32') return tensor.data;
  if (tensor.type === 'float16') return toFloat32(tensor.data, out);
  throw new TypeError(`Wanted a float tensor, got ${tensor.type}.`);
}

/** The indices of rows that hold a NaN or an infinity. */
export function findBadRows(rows: readonly Float32Array[]): number[] {
  return rows.flatMap((row, index) => (allFinite(row) ? [] : [index]));
}

/** Whether no value is a NaN or an infinity. */
export const allFinite = (values: Float32Array): boolean => sumOfZeros(values) === 0;

/**
 * 0, or NaN when a value is a NaN or an infinity: one pass without a branch per value. The caller compares: V8 compiles the loop in the
 * first call, and leaves the compiled code at the end of every call where a comparison follows that has not run by then.
 */
function sumOfZeros(values: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < values.length; i += 1) sum += values[i] * 0;
  return sum;
}

export const NUMBER_TYPES = ['int64', 'int32', 'float32', 'float16'] as const;
export type NumberType = (typeof NUMBER_TYPES)[number];

/** A few numbers in the type that a graph takes; integer types get the nearest whole number. */
export function numberTensor(
  type: NumberType,
  values: readonly number[],
  dims: readonly number[],
): Tensor<NumberType> {
  switch (type) {
    case 'float32':
      return { type, data: Float32Array.from(values), dims };
    case 'float16':
      return { type, data: toFloat16(values), dims };
    case 'int32':
      return { type, data: Int32Array.from(values, Math.round), dims };
    case 'int64':
      return { type, data: BigInt64Array.from(values, (value) => BigInt(Math.round(value))), dims };
  }
}

/** The largest difference of two arrays at one index. Infinity when either holds a NaN, so that a NaN never counts as equal. */
export function largestDifference(a: Float32Array, b: Float32Array): number {
  let largest = 0;
  for (let i = 0; i < a.length; i += 1) {
    const difference = Math.abs(a[i] - b[i]);
    if (!(difference <= largest)) largest = Number.isNaN(difference) ? Number.POSITIVE_INFINITY : difference;
  }
  return largest;
}

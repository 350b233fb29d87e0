/** The values of a weight of a file, in the type and the order that a graph has them. */
import {
  type ByteSource,
  bfloat16ToFloat32,
  DATA_TYPE,
  type SafeTensor,
  toFloat16,
  toFloat32,
} from '@lehr/onnx-model';
import { type NamedWeight, shapeOf } from './layouts.ts';

type Values = Float32Array | Uint16Array;

/** The types that weights of a model may have. */
const READABLE = new Set(['F32', 'F16', 'BF16']);

/** Why the values of a weight cannot be written, as a predicate of the file. */
export class ValuesError extends Error {}

/** `type` is that of the graph. Throws ValuesError for another type than weights have, and for values that are no numbers. */
export function valuesOf(
  { source, weight, isTransposed }: { source: ByteSource; weight: NamedWeight; isTransposed: boolean },
  type: number,
): Uint8Array {
  const { dtype, name } = weight.tensor;
  checkType(weight.tensor);
  const bytes = bytesOf(source, weight);
  const isHalf = type === DATA_TYPE.float16;
  const values = isHalf ? halves(bytes, dtype) : floats(bytes, dtype);
  if (!(values instanceof Float32Array ? values.every(Number.isFinite) : values.every(isFiniteHalf))) {
    const all = dtype !== 'F16' && isHalf && floats(bytes, dtype).every(Number.isFinite);
    const what = all ? 'that are too large for the float16 of the base' : 'that are no numbers';
    throw new ValuesError(`has values in ${name} ${what}`);
  }
  const [rows, columns] = shapeOf(weight).filter((size) => size !== 1);
  const ordered = isTransposed && columns !== undefined ? transposed(values, rows, columns) : values;
  return new Uint8Array(ordered.buffer);
}

/** All values of a tensor, as the file has them. Throws ValuesError as `valuesOf` does. */
export function floatsIn(source: ByteSource, tensor: SafeTensor): Float32Array {
  checkType(tensor);
  const values = floats(bytesOf(source, { tensor }), tensor.dtype);
  if (!values.every(Number.isFinite))
    throw new ValuesError(`has values in ${tensor.name} that are no numbers`);
  return values;
}

function checkType({ dtype, name }: SafeTensor): void {
  if (!READABLE.has(dtype))
    throw new ValuesError(`has ${name} in ${dtype}; Lehr reads weights in F32, F16 and BF16`);
}

function bytesOf(source: ByteSource, { tensor, share }: Pick<NamedWeight, 'tensor' | 'share'>): ArrayBuffer {
  const length = tensor.length / (share?.of ?? 1);
  const bytes = new Uint8Array(length);
  source.readInto(bytes, tensor.offset + length * (share?.index ?? 0));
  return bytes.buffer;
}

function floats(bytes: ArrayBuffer, dtype: string): Float32Array {
  if (dtype === 'F32') return new Float32Array(bytes);
  const shorts = new Uint16Array(bytes);
  return dtype === 'F16' ? toFloat32(shorts) : bfloat16ToFloat32(shorts);
}

const halves = (bytes: ArrayBuffer, dtype: string): Uint16Array =>
  dtype === 'F16' ? new Uint16Array(bytes) : toFloat16(floats(bytes, dtype));

/** Infinities and NaN have all bits of the exponent set. */
const isFiniteHalf = (bits: number): boolean => (bits & 0x7c00) !== 0x7c00;

function transposed(values: Values, rows: number, columns: number): Values {
  const out =
    values instanceof Float32Array ? new Float32Array(values.length) : new Uint16Array(values.length);
  for (let row = 0; row < rows; row += 1)
    for (let column = 0; column < columns; column += 1)
      out[column * rows + row] = values[row * columns + column];
  return out;
}

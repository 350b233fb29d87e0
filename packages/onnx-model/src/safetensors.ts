/**
 * Files of weights in the format safetensors: 8 bytes of length, a JSON header, the values. A file may come from anywhere, so nothing that
 * its header says is believed before it fits the file: sizes are multiplied with a limit, and the values of the tensors must lie one after
 * another from the header to the end, as the format demands.
 */
import { type ByteSource, read } from './byte-source.ts';

/** What the header says of one tensor. */
export interface SafeTensor {
  readonly name: string;
  readonly dtype: SafeTensorType;
  readonly shape: readonly number[];
  /** Where its values are in the source, row-major. */
  readonly offset: number;
  /** Of its values, in bytes. */
  readonly length: number;
}

export interface Safetensors {
  /** By name. */
  readonly tensors: ReadonlyMap<string, SafeTensor>;
  readonly metadata: Readonly<Record<string, string>>;
}

/** Of one value. */
const TYPE_BYTES = {
  BOOL: 1,
  U8: 1,
  I8: 1,
  F8_E4M3: 1,
  F8_E5M2: 1,
  U16: 2,
  I16: 2,
  F16: 2,
  BF16: 2,
  U32: 4,
  I32: 4,
  F32: 4,
  U64: 8,
  I64: 8,
  F64: 8,
} as const;
type SafeTensorType = keyof typeof TYPE_BYTES;

/** Says what is wrong with a file, without its name: a predicate, such as "ends before its header does". */
export class SafetensorsError extends Error {}

const LENGTH_BYTES = 8;
/** As in the reader of the format's authors. */
const MAX_HEADER_BYTES = 100_000_000;
const METADATA = '__metadata__';

/** Reads the header alone. Throws SafetensorsError for what is no such file, or says of itself what cannot be. */
export function readSafetensors(source: ByteSource, maxHeaderBytes = MAX_HEADER_BYTES): Safetensors {
  if (source.length < LENGTH_BYTES) throw new SafetensorsError('is too short for a safetensors file');
  const headerBytes = Number(Buffer.from(read(source, 0, LENGTH_BYTES)).readBigUInt64LE());
  const valuesAt = LENGTH_BYTES + headerBytes;
  if (valuesAt > source.length) throw new SafetensorsError('ends before its header does');
  if (headerBytes > maxHeaderBytes)
    throw new SafetensorsError(
      `has a header of ${headerBytes} bytes, and at most ${maxHeaderBytes} are read`,
    );
  const { [METADATA]: metadata = {}, ...entries } = headerOf(read(source, LENGTH_BYTES, headerBytes));
  const tensors = Object.entries(entries).map(([name, entry]) => tensorOf(name, entry, valuesAt));
  checkOrder(tensors, valuesAt, source.length);
  if (!isRecord(metadata) || !Object.values(metadata).every((value) => typeof value === 'string'))
    throw new SafetensorsError('has metadata that are not texts');
  return {
    tensors: new Map(tensors.map((tensor) => [tensor.name, tensor])),
    metadata: metadata as Record<string, string>,
  };
}

function headerOf(bytes: Uint8Array): Record<string, unknown> {
  const header = jsonOf(bytes);
  if (!isRecord(header)) throw new SafetensorsError('has no header of safetensors');
  return header;
}

function jsonOf(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return undefined;
  }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isSize = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;

function tensorOf(name: string, entry: unknown, valuesAt: number): SafeTensor {
  const refused = (why: string): SafetensorsError =>
    new SafetensorsError(`has a tensor ${JSON.stringify(name.slice(0, 100))} ${why}`);
  const { dtype, shape, data_offsets: offsets } = isRecord(entry) ? entry : {};
  if (!isType(dtype))
    throw refused(`of the unknown type ${(JSON.stringify(dtype) ?? 'undefined').slice(0, 40)}`);
  if (!Array.isArray(shape) || !shape.every(isSize)) throw refused('whose shape is not a list of sizes');
  if (!Array.isArray(offsets) || offsets.length !== 2 || !offsets.every(isSize))
    throw refused('without a place in the file');
  const [start, end] = offsets as [number, number];
  const length = shape.reduce((product, size) => product * size, TYPE_BYTES[dtype]);
  // Not a safe integer is far more than any file has, and may have been rounded to the length that the header names.
  if (!Number.isSafeInteger(length) || end - start !== length)
    throw refused(`of ${shape.join(' x ')} ${dtype}, which does not fit its place in the file`);
  return { name, dtype, shape, offset: valuesAt + start, length };
}

const isType = (value: unknown): value is SafeTensorType =>
  typeof value === 'string' && Object.hasOwn(TYPE_BYTES, value);

/** No tensor overlaps another, and no byte belongs to none. */
function checkOrder(tensors: readonly SafeTensor[], valuesAt: number, fileEnd: number): void {
  let end = valuesAt;
  for (const { name, offset, length } of tensors.toSorted(
    (a, b) => a.offset - b.offset || a.length - b.length,
  )) {
    if (offset !== end)
      throw new SafetensorsError(
        `has a tensor ${JSON.stringify(name.slice(0, 100))} that ${offset < end ? 'overlaps another' : 'leaves a gap'}`,
      );
    end += length;
  }
  if (end > fileEnd) throw new SafetensorsError(`ends ${end - fileEnd} bytes too early`);
  if (end < fileEnd) throw new SafetensorsError(`has ${fileEnd - end} bytes that belong to no tensor`);
}

/** The length and the header of a file whose values follow in the order of the tensors, the first at a multiple of 8. */
export function safetensorsHeader(
  tensors: readonly Pick<SafeTensor, 'name' | 'dtype' | 'shape'>[],
  metadata: Readonly<Record<string, string>> = {},
): Uint8Array {
  let end = 0;
  const entries = tensors.map(({ name, dtype, shape }) => {
    const start = end;
    end += shape.reduce((product, size) => product * size, TYPE_BYTES[dtype]);
    return [name, { dtype, shape, data_offsets: [start, end] }] as const;
  });
  const text = Buffer.from(JSON.stringify({ [METADATA]: metadata, ...Object.fromEntries(entries) }));
  const header = Buffer.alloc(LENGTH_BYTES + Math.ceil(text.length / LENGTH_BYTES) * LENGTH_BYTES, ' ');
  header.writeBigUInt64LE(BigInt(header.length - LENGTH_BYTES));
  text.copy(header, LENGTH_BYTES);
  return header;
}

/** Exact: a bfloat16 is the upper half of a float32. */
export function bfloat16ToFloat32(values: Uint16Array): Float32Array {
  const bits = new Uint32Array(values.length);
  for (let i = 0; i < values.length; i += 1) bits[i] = values[i] << 16;
  return new Float32Array(bits.buffer);
}

/** The initializers of a graph and of its subgraphs, each read when it is needed: a float32 decoder is never in memory as a whole. */
import { dirname, join } from 'node:path';
import {
  type ByteSource,
  DATA_TYPE,
  decode,
  EXTERNAL,
  type StoredTensor,
  type TensorProto,
  toNumber,
  withFileSource,
} from '@lehr/onnx-model';
import { LehrError } from '@lehr/shared';

export interface Weight {
  readonly name: string;
  readonly type: number;
  readonly dims: readonly number[];
  /** Of its values. */
  readonly bytes: number;
  /** Its values in the message itself, also when they were in another file. */
  load(): TensorProto;
}

/** A file of a graph is one message of protobuf. */
const MAX_MODEL_BYTES = 2 ** 31 - 1;

/** Throws LehrError `model-unavailable` when one file cannot hold weights of so many bytes. */
export function checkSize(path: string, bytes: number, precision: 'int8' | 'fp16'): void {
  if (bytes <= MAX_MODEL_BYTES) return;
  const found = `needs ${bytes} bytes in ${precision}; one file holds ${MAX_MODEL_BYTES}`;
  throw new LehrError('model-unavailable', `${path} ${found}.`);
}

/** `path` is the model's file: external data is looked up beside it. */
export const weightOf = (tensor: TensorProto, path: string, load = () => tensor): Weight => {
  const dims = (tensor.dims ?? []).map(toNumber);
  const type = tensor.dataType ?? 0;
  const bytes = dims.reduce((product, size) => product * size, BYTES[type] ?? LARGEST_BYTES);
  return { name: tensor.name ?? '', type, dims, bytes, load: () => inlined(load(), path) };
};

/** Of one value, by the type of the tensor. */
const BYTES: Readonly<Record<number, number>> = {
  [DATA_TYPE.float32]: 4,
  [DATA_TYPE.float16]: 2,
  [DATA_TYPE.int64]: 8,
  [DATA_TYPE.int32]: 4,
  [DATA_TYPE.int8]: 1,
  [DATA_TYPE.uint8]: 1,
  [DATA_TYPE.bool]: 1,
};
/** Of other types. */
const LARGEST_BYTES = 8;

/** Of an initializer that is still in the source. */
export const storedWeight = (stored: StoredTensor, source: ByteSource, path: string): Weight =>
  weightOf(stored.tensor, path, () => {
    const entry = new Uint8Array(stored.end - stored.start);
    source.readInto(entry, stored.start);
    // The entry with its tag is the one field of a graph.
    const [tensor] = decode('GraphProto', entry).initializer ?? [];
    return tensor;
  });

function inlined(tensor: TensorProto, path: string): TensorProto {
  if (tensor.dataLocation !== EXTERNAL) return tensor;
  const place = new Map((tensor.externalData ?? []).map(({ key, value }) => [key, value]));
  const file = join(dirname(path), place.get('location') ?? '');
  const offset = Number(place.get('offset') ?? 0);
  const rawData = withFileSource(file, (source) => {
    const bytes = new Uint8Array(Number(place.get('length') ?? source.length - offset));
    source.readInto(bytes, offset);
    return bytes;
  });
  return { ...tensor, dataLocation: 0, externalData: [], rawData };
}

/** Of a float32 tensor. */
export function floatsOf({ dataType, rawData, floatData, name }: TensorProto): Float32Array {
  if (dataType !== DATA_TYPE.float32) throw new Error(`${name} is not float32. This is a bug in Lehr.`);
  // A copy: rawData may be a Buffer inside a larger block, at an offset that is no multiple of four.
  return rawData?.byteLength
    ? new Float32Array(new Uint8Array(rawData).buffer)
    : Float32Array.from(floatData ?? []);
}

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

export interface Weight {
  readonly name: string;
  readonly type: number;
  readonly dims: readonly number[];
  /** Its values in the message itself, also when they were in another file. */
  load(): TensorProto;
}

/** `path` is the model's file: external data is looked up beside it. */
export const weightOf = (tensor: TensorProto, path: string, load = () => tensor): Weight => ({
  name: tensor.name ?? '',
  type: tensor.dataType ?? 0,
  dims: (tensor.dims ?? []).map(toNumber),
  load: () => inlined(load(), path),
});

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

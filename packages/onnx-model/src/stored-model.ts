/**
 * Reads and rewrites a model without reading its weights. An initializer is represented by its header and its position in the file. The
 * rewritten model refers to the weights in the original file, as external data: ONNX Runtime takes them from there one by one, so
 * a file with 1.7 GB of weights needs that much memory once, and not again in a buffer and in a parsed message.
 */
import { type ByteSource, read } from './byte-source.ts';
import { decode, encode, encodeHeader } from './codec.ts';
import { EXTERNAL, type GraphProto, type ModelProto, type TensorProto } from './schema.ts';
import { type WireField, walkFields } from './wire.ts';

const MODEL_GRAPH = 7;
const GRAPH_INITIALIZER = 5;
/** The fields of a TensorProto that hold its values, from float_data to uint64_data. Long values are not decoded. */
const TENSOR_VALUES = new Set([4, 5, 6, 7, 9, 10, 11]);
const TENSOR_RAW_DATA = 9;
const MAX_HEADER_VALUES_BYTES = 4096;

export interface StoredTensor {
  /** The tensor without values longer than 4 KiB. */
  readonly tensor: TensorProto;
  /** The bytes of its entry in the source, tag included. */
  readonly start: number;
  readonly end: number;
  /** Where its values are in the source, when they are one block of raw bytes longer than 4 KiB. */
  readonly raw?: { readonly offset: number; readonly length: number };
}

/** An initializer that no file has yet. */
export interface NewTensor {
  /** Without its values. */
  readonly tensor: TensorProto;
  /** Of its values. */
  readonly bytes: number;
  /** Raw values, little-endian. Called once, when the model is written: no two such tensors are in memory beside it. */
  load(): Uint8Array;
}

export interface StoredModel {
  /** Everything but the graph. */
  readonly model: ModelProto;
  /** Everything but the initializers. */
  readonly graph: GraphProto;
  readonly initializers: readonly StoredTensor[];
}

/** Throws when the source is not an ONNX model. */
export function readStoredModel(source: ByteSource): StoredModel {
  const fields = [...walkFields(source, 0, source.length)];
  const [graphField, ...more] = fields.filter((field) => field.id === MODEL_GRAPH);
  if (!graphField || more.length > 0)
    throw new Error(`Wanted a model with one graph, found ${more.length + (graphField ? 1 : 0)}.`);

  const rest: WireField[] = [];
  const initializers: StoredTensor[] = [];
  for (const field of walkFields(source, graphField.valueStart, graphField.end)) {
    if (field.id === GRAPH_INITIALIZER) initializers.push(readHeader(source, field));
    else rest.push(field);
  }
  return {
    model: decode(
      'ModelProto',
      gather(
        source,
        fields.filter((field) => field !== graphField),
      ),
    ),
    graph: decode('GraphProto', gather(source, rest)),
    initializers,
  };
}

function readHeader(source: ByteSource, entry: WireField): StoredTensor {
  const fields = [...walkFields(source, entry.valueStart, entry.end)];
  const isHeader = ({ id, start, end }: WireField): boolean =>
    !TENSOR_VALUES.has(id) || end - start <= MAX_HEADER_VALUES_BYTES;
  const raw = fields.find((field) => field.id === TENSOR_RAW_DATA && !isHeader(field));
  return {
    tensor: decode('TensorProto', gather(source, fields.filter(isHeader))),
    start: entry.start,
    end: entry.end,
    ...(raw && { raw: { offset: raw.valueStart, length: raw.end - raw.valueStart } }),
  };
}

/** The bytes of these fields, one after another. Adjacent fields are read together. */
function gather(source: ByteSource, fields: readonly WireField[]): Uint8Array {
  const runs = joinRuns(fields);
  return Buffer.concat(runs.map((run) => read(source, run.start, run.end - run.start)));
}

interface Run {
  start: number;
  end: number;
}

function joinRuns(pieces: readonly Readonly<Run>[]): Run[] {
  const runs: Run[] = [];
  for (const piece of pieces) {
    const last = runs.at(-1);
    if (last && last.end === piece.start) last.end = piece.end;
    else runs.push({ start: piece.start, end: piece.end });
  }
  return runs;
}

/**
 * The model as one buffer. Long weights stay in the file `name`, which the model was read from, and which must be beside it for
 * whoever loads the buffer; all other initializers are copied unchanged from the source. Without a name, all are copied. `added` come last.
 */
export function writeStoredModel(
  stored: StoredModel,
  source: ByteSource,
  name?: string,
  added: readonly NewTensor[] = [],
): Uint8Array {
  const head = encode('ModelProto', stored.model);
  const graph = encode('GraphProto', stored.graph);
  const entries = [
    ...stored.initializers.map((each) =>
      each.raw && name !== undefined ? reference(each.tensor, each.raw, name) : each,
    ),
    ...added.map(newEntry),
  ];
  const weightBytes = entries.reduce((sum, entry) => sum + lengthOf(entry), 0);
  const header = encodeHeader(MODEL_GRAPH, graph.byteLength + weightBytes);

  const out = Buffer.allocUnsafeSlow(head.byteLength + header.byteLength + graph.byteLength + weightBytes);
  let offset = 0;
  for (const part of [head, header, graph, ...entries]) {
    const length = lengthOf(part);
    if (part instanceof Uint8Array) out.set(part, offset);
    else if ('load' in part) {
      out.set(part.head, offset);
      out.set(part.load(), offset + part.head.byteLength);
    } else source.readInto(out.subarray(offset, offset + length), part.start);
    offset += length;
  }
  return out;
}

interface NewEntry extends NewTensor {
  /** The bytes before the values. */
  readonly head: Uint8Array;
}

function newEntry(added: NewTensor): NewEntry {
  const tensor = Buffer.concat([
    encode('TensorProto', added.tensor),
    encodeHeader(TENSOR_RAW_DATA, added.bytes),
  ]);
  const head = Buffer.concat([encodeHeader(GRAPH_INITIALIZER, tensor.byteLength + added.bytes), tensor]);
  return { ...added, head };
}

function lengthOf(part: Uint8Array | StoredTensor | NewEntry): number {
  if (part instanceof Uint8Array) return part.length;
  return 'load' in part ? part.head.byteLength + part.bytes : part.end - part.start;
}

/** The initializer with its values or, if they are long, with their place in the file `name`. Without a name, all values are copied. */
export function storedTensor(
  { tensor, start, end, raw }: StoredTensor,
  source: ByteSource,
  name?: string,
): TensorProto {
  if (raw && name !== undefined) return referring(tensor, raw, name);
  const [whole] = decode('GraphProto', read(source, start, end - start)).initializer ?? [];
  return whole;
}

interface RawPlace {
  readonly offset: number;
  readonly length: number;
}

function referring(tensor: TensorProto, { offset, length }: RawPlace, name: string): TensorProto {
  const place = { location: name, offset: `${offset}`, length: `${length}` };
  const externalData = Object.entries(place).map(([key, value]) => ({ key, value }));
  return { ...tensor, dataLocation: EXTERNAL, externalData };
}

/** The entry of an initializer whose values are bytes of a file. */
function reference(tensor: TensorProto, raw: RawPlace, name: string): Uint8Array {
  const entry = encode('TensorProto', referring(tensor, raw, name));
  return Buffer.concat([encodeHeader(GRAPH_INITIALIZER, entry.byteLength), entry]);
}

/**
 * Reads and rewrites a model without decoding its weights. An initializer is represented by its header and its position in
 * the file, and is copied from there into the rewritten model. So a file with 1.7 GB of weights needs that much memory only
 * once, for the buffer that goes to ONNX Runtime.
 */
import { type ByteSource, read } from './byte-source.ts';
import { decode, encode, encodeHeader } from './codec.ts';
import type { GraphProto, ModelProto, TensorProto } from './schema.ts';
import { type WireField, walkFields } from './wire.ts';

const MODEL_GRAPH = 7;
const GRAPH_INITIALIZER = 5;
/** The fields of a TensorProto that hold its values, from float_data to uint64_data. Long values are not decoded. */
const TENSOR_VALUES = new Set([4, 5, 6, 7, 9, 10, 11]);
const MAX_HEADER_VALUES_BYTES = 4096;

export interface StoredTensor {
  /** The tensor without values longer than 4 KiB. */
  readonly tensor: TensorProto;
  /** The bytes of its entry in the source, tag included. */
  readonly start: number;
  readonly end: number;
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
  return {
    tensor: decode('TensorProto', gather(source, fields.filter(isHeader))),
    start: entry.start,
    end: entry.end,
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

/** The model as one buffer, with its initializers copied unchanged from the source that it was read from. */
export function writeStoredModel(stored: StoredModel, source: ByteSource): Uint8Array {
  const head = encode('ModelProto', stored.model);
  const graph = encode('GraphProto', stored.graph);
  const runs = joinRuns(stored.initializers);
  const weightBytes = runs.reduce((sum, run) => sum + run.end - run.start, 0);
  const header = encodeHeader(MODEL_GRAPH, graph.byteLength + weightBytes);

  const out = Buffer.allocUnsafeSlow(head.byteLength + header.byteLength + graph.byteLength + weightBytes);
  let offset = 0;
  for (const part of [head, header, graph]) {
    out.set(part, offset);
    offset += part.byteLength;
  }
  for (const run of runs) {
    const length = run.end - run.start;
    source.readInto(out.subarray(offset, offset + length), run.start);
    offset += length;
  }
  return out;
}

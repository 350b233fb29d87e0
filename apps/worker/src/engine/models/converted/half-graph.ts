/** Writes a float32 graph again with half precision where that is safe, and the same inputs and outputs as before. */
import { closeSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { basename } from 'node:path';
import {
  ATTRIBUTE_TYPE,
  DATA_TYPE,
  EXTERNAL,
  encode,
  type GraphProto,
  type NodeProto,
  readStoredModel,
  type TensorProto,
  toFloat16,
  withFileSource,
} from '@lehr/onnx-model';
import { LehrError } from '@lehr/shared';
import { checkExternalData } from '../../runtime/external-data.ts';
import { allFinite, floatValues, type Tensor } from '../../runtime/tensor.ts';
import { type ElementTypes, elementTypes, halfNodes } from './half-nodes.ts';
import { checkSize, floatsOf, storedWeight, type Weight } from './weights.ts';

/** Of the float16 form of a value; the name without it is always the float32 form. */
const HALF = '_lehr_half';
/** Smaller weights stay in the graph, as in Optimum and onnx: shape inference reads them there. */
const MIN_EXTERNAL_BYTES = 1024;

interface HalfFiles {
  readonly graph: string;
  /** The same graph, which also returns every value in float16. */
  readonly check: string;
  /** The weights of both. Absent: in the graphs themselves. */
  readonly data?: string;
}

/**
 * Reads the graph `from` and writes these files, all in one folder. Returns the names of the values in float16. Throws LehrError `model-unavailable`
 * when nothing in it can be converted, or the weights do not fit into the graph.
 */
export function writeHalfGraph(from: string, to: HalfFiles): string[] {
  checkExternalData({ path: from });
  return withFileSource(from, (source) => {
    const { model, graph, initializers } = readStoredModel(source);
    const weights = initializers.map((each) => storedWeight(each, source, from));
    const refused = (found: string): LehrError => new LehrError('model-unavailable', `${from} ${found}.`);
    const hasGraphs = graph.node?.some(({ attribute }) =>
      attribute?.some(({ g, graphs }) => g || graphs?.length),
    );
    if (hasGraphs || model.functions?.length) throw refused('has subgraphs or functions, which stay float32');
    if (weights.some(({ type }) => type === DATA_TYPE.float16))
      throw refused('has weights in float16 already');
    const types = elementTypes(graph, weights);
    const nodes = halfNodes(graph, weights, types);
    if (nodes.size === 0) throw refused('has nothing in float32 that can be in half precision');
    const halved = halvedGraph(graph, weights, nodes, types);
    const sizeOf = ({ name, bytes }: Weight): number => (halved.weights.has(name) ? bytes / 2 : bytes);
    const size = weights.reduce((sum, weight) => sum + sizeOf(weight), 0);
    if (to.data === undefined) checkSize(from, size, 'fp16');
    const initializer =
      to.data === undefined
        ? weights.map((weight) => loaded(weight, halved.weights))
        : writeWeights(weights, halved.weights, to.data);
    const made = { ...halved.graph, initializer };
    writeFileSync(to.graph, encode('ModelProto', { ...model, graph: made }));
    const tensorType = { elemType: DATA_TYPE.float16 };
    const values = [...nodes]
      .flatMap(({ output }) => output ?? [])
      .filter((name) => types.get(name) === DATA_TYPE.float32);
    const names = values.map((name) => name + HALF);
    const output = [...(made.output ?? []), ...names.map((name) => ({ name, type: { tensorType } }))];
    writeFileSync(to.check, encode('ModelProto', { ...model, graph: { ...made, output } }));
    return names;
  });
}

/** The name of a value that half precision cannot hold. */
export const badValue = (outputs: Readonly<Record<string, Tensor>>): string | undefined =>
  Object.keys(outputs).find((name) => !allFinite(floatValues(outputs[name])));

interface Halved {
  /** Without its weights. */
  readonly graph: GraphProto;
  /** The weights that are stored as float16. */
  readonly weights: ReadonlySet<string>;
}

function halvedGraph(
  graph: GraphProto,
  weights: readonly Weight[],
  half: ReadonlySet<NodeProto>,
  types: ElementTypes,
): Halved {
  const isFloat = (name: string): boolean => types.get(name) === DATA_TYPE.float32;
  const stored = halfWeights(graph, weights, half);
  const inHalf = new Set(stored);
  const casts = new Set<string>();
  const node: NodeProto[] = [];
  const valueIn = (name: string, wantsHalf: boolean): string => {
    const wanted = wantsHalf ? name + HALF : name;
    if (inHalf.has(name) === wantsHalf || casts.has(wanted)) return wanted;
    casts.add(wanted);
    node.push(castOf(wantsHalf ? name : name + HALF, wanted, wantsHalf));
    return wanted;
  };
  for (const each of graph.node ?? []) {
    const isHalf = half.has(each);
    // These take any type, so that they need no Cast.
    const takesAny = each.opType === 'Shape' || each.opType === 'Cast';
    const input = each.input?.map((name) =>
      isFloat(name) ? valueIn(name, takesAny ? inHalf.has(name) : isHalf) : name,
    );
    const output = each.output?.map((name) => {
      if (!isHalf || !isFloat(name)) return name;
      inHalf.add(name);
      return name + HALF;
    });
    node.push({ ...each, input, output });
  }
  for (const { name } of graph.output ?? []) if (name && isFloat(name)) valueIn(name, false);
  return {
    graph: {
      ...graph,
      node,
      // Old exporters list weights among the inputs.
      input: graph.input?.filter(({ name }) => !stored.has(name ?? '')),
      valueInfo: graph.valueInfo?.filter(({ name }) => !inHalf.has(name ?? '')),
    },
    weights: stored,
  };
}

/** Those that only nodes in half precision read. */
function halfWeights(
  graph: GraphProto,
  weights: readonly Weight[],
  half: ReadonlySet<NodeProto>,
): Set<string> {
  const readers = (isHalf: boolean): Set<string> =>
    new Set(
      (graph.node ?? []).filter((node) => half.has(node) === isHalf).flatMap(({ input }) => input ?? []),
    );
  const [inHalf, inFloat] = [readers(true), readers(false)];
  const outputs = new Set(graph.output?.map(({ name }) => name));
  return new Set(
    weights
      .filter(({ name, type }) => type === DATA_TYPE.float32 && inHalf.has(name) && !inFloat.has(name))
      .map(({ name }) => name)
      .filter((name) => !outputs.has(name)),
  );
}

const castOf = (from: string, to: string, toHalf: boolean): NodeProto => ({
  name: `${to}_cast`,
  opType: 'Cast',
  input: [from],
  output: [to],
  attribute: [{ name: 'to', type: ATTRIBUTE_TYPE.int, i: toHalf ? DATA_TYPE.float16 : DATA_TYPE.float32 }],
});

const loaded = (weight: Weight, half: ReadonlySet<string>): TensorProto =>
  half.has(weight.name) ? halved(weight.load()) : weight.load();

/** One weight at a time, into a separate file: the file of a graph holds at most 2 GiB. */
function writeWeights(weights: readonly Weight[], half: ReadonlySet<string>, data: string): TensorProto[] {
  const file = openSync(data, 'w');
  let offset = 0;
  try {
    return weights.map((weight) => {
      const tensor = loaded(weight, half);
      const { rawData, ...header } = tensor;
      const length = rawData?.byteLength ?? 0;
      if (!rawData || length < MIN_EXTERNAL_BYTES) return tensor;
      for (let done = 0; done < length; )
        done += writeSync(file, rawData, done, length - done, offset + done);
      const place = { location: basename(data), offset: `${offset}`, length: `${length}` };
      offset += length;
      const externalData = Object.entries(place).map(([key, value]) => ({ key, value }));
      return { ...header, dataLocation: EXTERNAL, externalData };
    });
  } finally {
    closeSync(file);
  }
}

function halved(tensor: TensorProto): TensorProto {
  const values = toFloat16(floatsOf(tensor));
  return {
    ...tensor,
    name: tensor.name + HALF,
    dataType: DATA_TYPE.float16,
    floatData: [],
    rawData: new Uint8Array(values.buffer),
  };
}

/**
 * Dynamic quantization, as quantize_dynamic of ONNX Runtime writes it: a MatMul with a float32 weight becomes DynamicQuantizeLinear,
 * MatMulInteger, Cast and Mul. All other nodes stay as they are.
 */
import { writeFile } from 'node:fs/promises';
import {
  ATTRIBUTE_TYPE,
  DATA_TYPE,
  encode,
  type GraphProto,
  type NodeProto,
  readStoredModel,
  type TensorProto,
  toNumber,
  withFileSource,
} from '@lehr/onnx-model';
import { LehrError } from '@lehr/shared';
import { checkExternalData } from '../../runtime/external-data.ts';
import { checkSize, floatsOf, storedWeight, type Weight, weightOf } from './weights.ts';

/** A graph, and the initializers that its nodes and those of its subgraphs see. */
interface Scope {
  readonly path: string;
  readonly weights: ReadonlyMap<string, Weight>;
  readonly made: Map<string, readonly [TensorProto, TensorProto]>;
  readonly outer: Scope | undefined;
}

/** DynamicQuantizeLinear is of opset 11. */
const MIN_OPSET = 11;

/**
 * Writes the graph `from` to the file `to`; returns how many products compute in int8, also inside the branches of a merged decoder. Throws
 * LehrError `model-unavailable` when there are none.
 */
export async function writeQuantized(from: string, to: string): Promise<number> {
  const { bytes, matmuls } = quantizeGraph(from);
  await writeFile(to, bytes);
  return matmuls;
}

function quantizeGraph(path: string): { readonly bytes: Uint8Array; readonly matmuls: number } {
  checkExternalData({ path });
  return withFileSource(path, (source) => {
    const { model, graph, initializers } = readStoredModel(source);
    const opset = toNumber(model.opsetImport?.find(({ domain }) => !domain)?.version);
    const refused = (found: string): LehrError => new LehrError('model-unavailable', `${path} ${found}.`);
    if (opset < MIN_OPSET) throw refused(`has opset ${opset}; int8 needs ${MIN_OPSET} or more`);
    const count = { matmuls: 0 };
    const weights = initializers.map((each) => storedWeight(each, source, path));
    const made = quantized(graph, weights, undefined, path, count);
    if (count.matmuls === 0)
      throw refused('has no MatMul with float32 weights, so that int8 changes nothing');
    const size = (made.initializer ?? []).reduce((sum, { rawData }) => sum + (rawData?.byteLength ?? 0), 0);
    checkSize(path, size, 'int8');
    return { bytes: encode('ModelProto', { ...model, graph: made }), matmuls: count.matmuls };
  });
}

function quantized(
  graph: GraphProto,
  weights: readonly Weight[],
  outer: Scope | undefined,
  path: string,
  count: { matmuls: number },
): GraphProto {
  const named = new Map(weights.map((each) => [each.name, each]));
  const scope: Scope = { path, weights: named, made: new Map(), outer };
  const inputs = new Map<string, string>();
  const node = (graph.node ?? []).flatMap((each): NodeProto[] => {
    const replaced = quantizedMatMul(each, scope, inputs);
    if (replaced) count.matmuls += 1;
    return replaced ?? [withBranches(each, scope, count)];
  });
  const used = namesIn({ ...graph, node });
  const kept = weights.filter(({ name }) => used.has(name)).map((weight) => weight.load());
  return { ...graph, node, initializer: [...kept, ...[...scope.made.values()].flat()] };
}

function withBranches(node: NodeProto, scope: Scope, count: { matmuls: number }): NodeProto {
  if (!node.attribute?.some(({ g }) => g)) return node;
  const attribute = node.attribute.map((each) => {
    if (!each.g) return each;
    const weights = (each.g.initializer ?? []).map((tensor) => weightOf(tensor, scope.path));
    return { ...each, g: quantized(each.g, weights, scope, scope.path, count) };
  });
  return { ...node, attribute };
}

/** Undefined when the node is no MatMul whose second input is a float32 weight of two dimensions. */
function quantizedMatMul(
  node: NodeProto,
  scope: Scope,
  inputs: Map<string, string>,
): NodeProto[] | undefined {
  const [input, name] = node.input ?? [];
  if (node.opType !== 'MatMul' || node.domain || scope.weights.has(input)) return undefined;
  const names = weightIn(name, scope);
  if (!names) return undefined;
  const [output] = node.output ?? [];
  const step = (part: string): string => `${output}_int8_${part}`;
  const make = (opType: string, from: string[], to: string[], attribute: NodeProto['attribute'] = []) => ({
    name: step(opType),
    opType,
    input: from,
    output: to,
    attribute,
  });
  // Queries, keys and values share one input.
  const shared = inputs.get(input);
  const prefix = shared ?? step('input');
  inputs.set(input, prefix);
  const parts = [prefix, `${prefix}_scale`, `${prefix}_zero`];
  const to = { name: 'to', type: ATTRIBUTE_TYPE.int, i: DATA_TYPE.float32 };
  return [
    ...(shared === undefined ? [make('DynamicQuantizeLinear', [input], parts)] : []),
    make('MatMulInteger', [prefix, names.weight, parts[2]], [step('whole')]),
    make('Cast', [step('whole')], [step('float')], [to]),
    { ...make('Mul', [parts[1], names.scale], [step('scale')]), name: step('MulScales') },
    make('Mul', [step('float'), step('scale')], [output]),
  ];
}

/** Quantizes the weight once, in the graph that it belongs to. */
function weightIn(name: string, scope: Scope): { weight: string; scale: string } | undefined {
  const found = scope.weights.get(name);
  if (!found) return scope.outer && weightIn(name, scope.outer);
  if (found.type !== DATA_TYPE.float32 || found.dims.length !== 2 || found.dims.includes(0)) return undefined;
  if (!scope.made.has(name)) {
    const { weight, scale } = quantizeWeight(name, floatsOf(found.load()), found.dims[1]);
    scope.made.set(name, [weight, scale]);
  }
  return { weight: `${name}_int8`, scale: `${name}_int8_scale` };
}

/** Every value that nodes of the graph and of its subgraphs read, and what leaves or enters it. */
function namesIn(graph: GraphProto): Set<string> {
  const names = new Set([...(graph.output ?? []), ...(graph.input ?? [])].map(({ name }) => name ?? ''));
  for (const { input, attribute } of graph.node ?? []) {
    for (const each of input ?? []) names.add(each);
    for (const { g } of attribute ?? []) if (g) for (const each of namesIn(g)) names.add(each);
  }
  return names;
}

/**
 * One bit less than int8 holds. On processors with AVX2 or AVX-512 but no VNNI, ONNX Runtime adds two products of uint8 and int8 in 16
 * bits, which overflow with larger weights (`reduce_range` of its quantize_dynamic).
 */
const LARGEST = 64;

/**
 * A weight of shape [inner, columns] as int8, with one scale per column: float = int8 * scale, and zero is zero. Throws LehrError
 * `model-unavailable` when a value is not finite.
 */
function quantizeWeight(
  name: string,
  values: Float32Array,
  columns: number,
): { readonly weight: TensorProto; readonly scale: TensorProto } {
  const scales = new Float32Array(columns);
  for (let i = 0; i < values.length; i += 1) {
    const size = Math.abs(values[i]);
    if (!Number.isFinite(size)) {
      throw new LehrError(
        'model-unavailable',
        `${name} has the value ${values[i]} at ${i}; int8 needs finite weights.`,
      );
    }
    if (size > scales[i % columns]) scales[i % columns] = size;
  }
  for (let column = 0; column < columns; column += 1) scales[column] = scales[column] / LARGEST || 1;
  const whole = Int8Array.from(values, (value, i) => Math.round(value / scales[i % columns]));
  const bytesOf = ({ buffer }: Int8Array | Float32Array): Uint8Array => new Uint8Array(buffer as ArrayBuffer);
  return {
    weight: {
      name: `${name}_int8`,
      dataType: DATA_TYPE.int8,
      dims: [values.length / columns, columns],
      rawData: bytesOf(whole),
    },
    scale: {
      name: `${name}_int8_scale`,
      dataType: DATA_TYPE.float32,
      dims: [columns],
      rawData: bytesOf(scales),
    },
  };
}

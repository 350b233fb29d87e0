import { type AttributeProto, DATA_TYPE, type GraphProto, type NodeProto, toNumber } from '@lehr/onnx-model';
import { floatsOf, type Weight } from './weights.ts';

/** TensorProto.DataType by the name of a value; a value whose type is not known is absent. */
export type ElementTypes = ReadonlyMap<string, number>;

const WHOLE_NUMBERS = new Set(['Shape', 'Size', 'NonZero', 'ArgMax', 'ArgMin']);
const TRUTHS = new Set('Equal Greater Less GreaterOrEqual LessOrEqual And Or Not Xor IsNaN IsInf'.split(' '));
/** Their second output is an index. */
const WITH_INDEX = new Set(['TopK', 'MaxPool']);

/**
 * The element type of every value of a graph without subgraphs, from its inputs, weights and operators (ONNX operator schemas): most
 * operators return the type of their first input.
 */
export function elementTypes(graph: GraphProto, weights: readonly Weight[]): ElementTypes {
  const types = new Map<string, number>();
  const set = (name: string | null | undefined, type: number | null | undefined): void => {
    if (name && type) types.set(name, type);
  };
  for (const { name, type } of graph.input ?? []) set(name, type?.tensorType?.elemType);
  for (const { name, type } of weights) set(name, type);
  for (const node of graph.node ?? []) {
    for (const [index, name] of (node.output ?? []).entries()) set(name, outputType(node, index, types));
  }
  return types;
}

function outputType(node: NodeProto, index: number, types: ElementTypes): number | undefined {
  const opType = node.opType ?? '';
  const [first, second] = node.input ?? [];
  const value = (name: string) => node.attribute?.find((each) => each.name === name);
  if (WHOLE_NUMBERS.has(opType) || (index > 0 && WITH_INDEX.has(opType))) return DATA_TYPE.int64;
  if (TRUTHS.has(opType)) return DATA_TYPE.bool;
  if (opType === 'Cast') return toNumber(value('to')?.i);
  if (opType === 'Constant') return constantType(node.attribute ?? []);
  if (opType === 'ConstantOfShape') return value('value')?.t?.dataType ?? DATA_TYPE.float32;
  return types.get(opType === 'Where' || opType === 'CastLike' ? second : first);
}

function constantType([value]: readonly AttributeProto[]): number | undefined {
  if (value?.t) return value.t.dataType ?? undefined;
  if (value?.name?.startsWith('value_float')) return DATA_TYPE.float32;
  return value?.name?.startsWith('value_int') ? DATA_TYPE.int64 : undefined;
}

/** The largest finite float16. */
const LARGEST = 65504;

/** Products, convolutions, sums, activations, and operators that only move values. All others stay float32. */
const HALF_OPERATORS = new Set(
  (
    'MatMul Gemm Conv ConvTranspose Einsum Add Sub Mul Div Neg Sigmoid Tanh Relu LeakyRelu Erf Gelu Identity Reshape Transpose Concat ' +
    'Split Slice Gather Squeeze Unsqueeze Expand Flatten Tile Where Pad'
  ).split(' '),
);

/** Exporters write a norm as these and the sums and quotients between them. */
const PARTS_OF_NORMS = new Set(['ReduceMean', 'ReduceSum', 'Pow', 'Sqrt', 'Reciprocal']);
const BETWEEN_PARTS = new Set(['Add', 'Sub', 'Mul', 'Div']);

/** An angle of 1000, as of a late timestep, is off by up to 0.25 in half precision. */
const OF_ANGLES = new Set(['Sin', 'Cos']);

/** What they return can be as large as what they read: a mask of attention is made with them from the lowest float32. */
const KEEP_SIZE = new Set(
  'Add Sub Mul Cast Concat Expand Gather Identity Reshape ScatterND Slice Split Squeeze Tile Transpose Trilu Unsqueeze Where'.split(
    ' ',
  ),
);

/**
 * The nodes that can compute in float16. Not among them: norms and softmax, what leads to an angle, and what reads a constant that float16
 * cannot hold.
 */
export function halfNodes(
  graph: GraphProto,
  weights: readonly Weight[],
  types: ElementTypes,
): ReadonlySet<NodeProto> {
  const nodes = graph.node ?? [];
  const isFloat = (name: string): boolean => types.get(name) === DATA_TYPE.float32;
  const kept = keptNodes(nodes, largeConstants(nodes, weights), isFloat);
  return new Set(
    nodes.filter(
      (node) =>
        HALF_OPERATORS.has(node.opType ?? '') &&
        !node.domain &&
        !kept.has(node) &&
        (node.input ?? []).some(isFloat),
    ),
  );
}

function keptNodes(
  nodes: readonly NodeProto[],
  large: Set<string>,
  isFloat: (name: string) => boolean,
): Set<NodeProto> {
  const parts = new Set(
    nodes.filter(({ opType }) => PARTS_OF_NORMS.has(opType ?? '')).flatMap(({ output }) => output ?? []),
  );
  const kept = new Set<NodeProto>();
  for (const node of nodes) {
    if (!node.input?.some((name) => large.has(name))) continue;
    kept.add(node);
    if (KEEP_SIZE.has(node.opType ?? '')) for (const name of node.output ?? []) large.add(name);
  }
  const angles = new Set<string>();
  // Backwards: each node is listed after those that it reads from.
  for (const node of nodes.toReversed()) {
    const input = node.input ?? [];
    const isAngle = OF_ANGLES.has(node.opType ?? '') || node.output?.some((name) => angles.has(name));
    if (isAngle) for (const name of input.filter(isFloat)) angles.add(name);
    const isNorm = BETWEEN_PARTS.has(node.opType ?? '') && input.some((name) => parts.has(name));
    if (isAngle || isNorm) kept.add(node);
  }
  return kept;
}

/** Weights and constants with a value that is infinite, or would be, in float16. */
function largeConstants(nodes: readonly NodeProto[], weights: readonly Weight[]): Set<string> {
  const large = new Set<string>();
  for (const { name, type, load } of weights) {
    if (type === DATA_TYPE.float32 && isLarge(floatsOf(load()))) large.add(name);
  }
  for (const { opType, output, attribute } of nodes) {
    const [value] = opType === 'Constant' || opType === 'ConstantOfShape' ? (attribute ?? []) : [];
    const values =
      value?.t?.dataType === DATA_TYPE.float32
        ? floatsOf(value.t)
        : [value?.f ?? 0, ...(value?.floats ?? [])];
    if (isLarge(values)) large.add(output?.[0] ?? '');
  }
  return large;
}

/** Written without a callback: a model has a billion weights. */
function isLarge(values: ArrayLike<number>): boolean {
  for (let i = 0; i < values.length; i += 1) if (Math.abs(values[i]) > LARGEST) return true;
  return false;
}

import { type AttributeProto, DATA_TYPE, type GraphProto, type NodeProto, toNumber } from '@lehr/onnx-model';
import type { Weight } from './weights.ts';

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

/**
 * Gives a UNet inputs for what ControlNets add to it (arXiv 2302.05543), in the order of their outputs in diffusers: one for each value that an up
 * block joins with a Concat, those of the down blocks from the first on, and one for the result of the middle block. Exporters differ in
 * names; the Concats are found by what they read. Zeros of the shape [1, 1, 1, 1] leave every value as it is.
 */
import {
  type AttributeProto,
  DATA_TYPE,
  GraphIndex,
  type NodeProto,
  type StoredModel,
  toNumber,
  type ValueInfoProto,
} from '@lehr/onnx-model';

/** Inputs are called so, with their number. */
export const RESIDUAL_INPUT = 'lehr_control_';

export type ResidualInputs =
  | { readonly outcome: 'added'; readonly count: number }
  | { readonly outcome: 'impossible'; readonly reason: string };

/** A value and the nodes that read it with what is added. */
interface Place {
  readonly value: string;
  readonly readers: readonly NodeProto[];
}

/** Edits the graph in place, unless that is impossible. */
export function addResidualInputs(stored: StoredModel): ResidualInputs {
  const index = new GraphIndex(stored);
  const places = skipPlaces(stored, index);
  if (places.length === 0) {
    const wanted =
      'wanted the up blocks of a UNet of diffusers, each of which joins values of the down blocks';
    return { outcome: 'impossible', reason: `the unet graph joins no such values: ${wanted}` };
  }
  const types = places.map(({ value }) => floatType(index, value));
  if (types.includes(undefined)) {
    const { value } = places[types.indexOf(undefined)];
    return { outcome: 'impossible', reason: `"${value}" of the unet graph is of no known float type` };
  }
  for (const [i, place] of places.entries()) addAt(stored, place, `${RESIDUAL_INPUT}${i}`, types[i]);
  return { outcome: 'added', count: places.length };
}

/** A Concat of what the up block before it has made with a value of a down block. */
interface Join {
  readonly node: NodeProto;
  readonly hidden: string;
  readonly skip: string;
}

/** The places of the skips, those of the first down block first, and of the middle block; none when these are not the blocks of a UNet. */
function skipPlaces({ graph }: StoredModel, index: GraphIndex): Place[] {
  const joins = (graph.node ?? []).flatMap((node) => joinOf(node, index) ?? []);
  // Each up block goes on with what the one before it has made.
  const isChain = joins.every(
    ({ hidden }, i) => i === 0 || reaches(index, hidden, joins[i - 1].node.output?.[0] ?? ''),
  );
  if (joins.length === 0 || !isChain) return [];
  const skips = joins.map(({ node, skip }) => ({ value: skip, readers: [node] })).reverse();
  const middle = joins[0].hidden;
  return [...skips, { value: middle, readers: index.readers(middle) }];
}

function joinOf(node: NodeProto, index: GraphIndex): Join | undefined {
  const { opType, domain, input = [], attribute } = node;
  if (opType !== 'Concat' || domain || input?.length !== 2) return undefined;
  const axis = toNumber(attribute?.find(({ name }) => name === 'axis')?.i);
  // Channels of a picture.
  if (axis !== 1 && axis !== -3) return undefined;
  const [hidden, skip] = input;
  const isComputed = [hidden, skip].every((value) => index.producer(value) !== undefined);
  return isComputed && reaches(index, hidden, skip) ? { node, hidden, skip } : undefined;
}

/** Whether `value` is computed from `from`, or is it. */
function reaches(index: GraphIndex, value: string, from: string): boolean {
  const seen = new Set<string>();
  for (const todo = [value]; todo.length > 0; ) {
    const next = todo.pop() ?? '';
    if (next === from) return true;
    if (seen.has(next)) continue;
    seen.add(next);
    todo.push(...(index.producer(next)?.input ?? []));
  }
  return false;
}

type FloatCode = typeof DATA_TYPE.float32 | typeof DATA_TYPE.float16;

const isFloat = (type: number): type is FloatCode => type === DATA_TYPE.float32 || type === DATA_TYPE.float16;

/** The input of a node whose type its result has, where that is not the first. */
const TYPE_GIVER: Readonly<Record<string, number>> = { Where: 1, DequantizeLinear: 1, ConvInteger: 1 };

/** Follows the nodes that keep the type of a value to one that says it. */
function floatType(index: GraphIndex, value: string): FloatCode | undefined {
  for (let at = value; ; ) {
    const node = index.producer(at);
    const declared = node ? declaredBy(node) : typeOfSource(index, at);
    if (declared !== undefined) return isFloat(declared) ? declared : undefined;
    const next = node?.input?.[TYPE_GIVER[node.opType ?? ''] ?? 0];
    if (next === undefined) return undefined;
    at = next;
  }
}

function declaredBy({ opType, attribute }: NodeProto): number | undefined {
  const named = (name: string): AttributeProto | undefined => attribute?.find((each) => each.name === name);
  if (opType === 'Cast') return toNumber(named('to')?.i);
  if (opType === 'Constant') return named('value')?.t?.dataType ?? undefined;
  return undefined;
}

/** 0, which is no type, for a name that nothing makes. */
const typeOfSource = (index: GraphIndex, value: string): number =>
  index.weight(value)?.dataType ?? index.input(value)?.type?.tensorType?.elemType ?? 0;

function addAt({ graph }: StoredModel, { value, readers }: Place, name: string, elemType = 0): void {
  const sum = `${name}_sum`;
  const nodes = graph.node ?? [];
  const first = nodes.findIndex((node) => readers.includes(node));
  for (const reader of readers) reader.input = reader.input?.map((each) => (each === value ? sum : each));
  nodes.splice(first, 0, { opType: 'Add', name: `${name}_add`, input: [value, name], output: [sum] });
  graph.input = [...(graph.input ?? []), freeInput(name, elemType)];
}

/** Sizes are free, because zeros come as one value. */
const freeInput = (name: string, elemType: number): ValueInfoProto => ({
  name,
  type: {
    tensorType: {
      elemType,
      shape: {
        dim: ['rows', 'channels', 'height', 'width'].map((axis) => ({ dimParam: `${name}_${axis}` })),
      },
    },
  },
});

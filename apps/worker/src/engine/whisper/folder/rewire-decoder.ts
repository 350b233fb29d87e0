/**
 * Lets rows of different lengths share one call of a Whisper decoder. Exporters trace a decoder that takes the position of
 * the next token from the length of the past keys and values, so all rows of a call must have the same length. Here
 * every row keeps its past in a slot of fixed size, and the graph of the later calls is edited in three places:
 *
 *   positions   the slice of the position table becomes a lookup by `lehr.positions`, one per row
 *   attention   before each softmax over a row's own tokens `lehr.mask` hides the unused end of its slot
 *   presents    the call returns only the keys and values of the new token; whisper/token-cache.ts stores them
 *
 * Nodes are found by what they do, not by name, so the files of old and new exporters both work. check-decoder.ts checks
 * on the loaded session that each row gets the same logits in a batch as alone.
 */
import {
  ATTRIBUTE_TYPE,
  DATA_TYPE,
  type GraphProto,
  type NodeProto,
  readStoredModel,
  type StoredModel,
  toNumber,
  type ValueInfoProto,
  withFileSource,
  writeStoredModel,
} from '@lehr/onnx-model';
import { weightsPlace } from '../../runtime/external-data.ts';
import { MASK_INPUT, POSITIONS_INPUT } from '../decoder-graphs.ts';

export interface DecoderPlan {
  readonly layers: number;
  readonly heads: number;
  readonly width: number;
  readonly targetPositions: number;
}

export type DecoderRewiring =
  | { readonly outcome: 'rewired'; readonly bytes: Uint8Array }
  | { readonly outcome: 'impossible'; readonly reason: string };

/** Why the graph cannot be rewired. Thrown and caught in this file. */
class Impossible extends Error {}

/** Writes no file and reads no weights: `bytes` refers to those in the file. Throws when it is not an ONNX model. */
export function rewireDecoder(path: string, plan: DecoderPlan): DecoderRewiring {
  return withFileSource(path, (source) => {
    const stored = readStoredModel(source);
    try {
      edit(stored, plan);
    } catch (error) {
      if (error instanceof Impossible) return { outcome: 'impossible', reason: error.message };
      throw error;
    }
    return { outcome: 'rewired', bytes: writeStoredModel(stored, source, weightsPlace(path)) };
  });
}

function edit(stored: StoredModel, plan: DecoderPlan): void {
  const { graph } = stored;
  const call = callWithPast(graph);
  const past = valueNamed(call.inputs, 'past_key_values.0.decoder.key');
  const floatType = past.type?.tensorType?.elemType;
  const batch = valueNamed(call.inputs, 'input_ids').type?.tensorType?.shape?.dim?.[0];
  if (!floatType || !batch) throw new Impossible('its inputs are not declared as tensors');

  const tables = positionTables(stored, call.graph, plan);
  replacePositions(call.graph, tables);
  const mask = 'lehr.mask.heads';
  for (let layer = 0; layer < plan.layers; layer++) {
    const key = concatOf(call, `past_key_values.${layer}.decoder.key`);
    const value = concatOf(call, `past_key_values.${layer}.decoder.value`);
    maskAttention(call.graph, key, mask);
    returnNewTokenOnly(call, `present.${layer}.decoder.key`, key);
    returnNewTokenOnly(call, `present.${layer}.decoder.value`, value);
  }
  call.graph.node?.unshift(...spreadOverHeads(mask, plan.heads, castOf(graph, past.name ?? '')));
  // Recorded shapes of the old wiring; ONNX Runtime infers them again.
  call.graph.valueInfo = [];
  const dim = [batch, { dimValue: 1 }, { dimValue: 1 }, { dimParam: 'lehr_slot + 1' }];
  graph.input?.push(
    tensorInfo(POSITIONS_INPUT, DATA_TYPE.int64, [batch, { dimValue: 1 }]),
    tensorInfo(MASK_INPUT, floatType, dim),
  );
}

/** The graph of every call but the first: a branch of the merged decoder, or the whole decoder_with_past_model. */
interface CallWithPast {
  readonly graph: GraphProto;
  readonly inputs: readonly ValueInfoProto[];
  /** The name that an input of the model has inside `graph`. */
  readonly innerInput: (input: string) => string;
  /** The name that an output of the model has inside `graph`. */
  readonly innerName: (output: string) => string;
}

/** The cast that an input of the model goes through: graphs in half precision may keep their inputs and outputs in float32. */
const castOf = (graph: GraphProto, input: string): NodeProto | undefined =>
  graph.node?.find((node) => node.opType === 'Cast' && node.input?.[0] === input);

function callWithPast(graph: GraphProto): CallWithPast {
  const inputs = graph.input ?? [];
  const innerInput = (input: string): string => castOf(graph, input)?.output?.[0] ?? input;
  if (!inputs.some(({ name }) => name === 'use_cache_branch')) {
    return { graph, inputs, innerInput, innerName: (output) => output };
  }
  const choice = graph.node?.find(
    ({ opType, input }) => opType === 'If' && input?.[0] === 'use_cache_branch',
  );
  const branch = choice?.attribute?.find(({ name }) => name === 'then_branch')?.g;
  if (!choice || !branch) throw new Impossible('"use_cache_branch" does not choose between two branches');
  const innerName = (output: string): string => {
    const producer = graph.node?.find((node) => node.output?.[0] === output);
    const ofChoice = producer?.opType === 'Cast' ? (producer.input?.[0] ?? '') : output;
    const inner = branch.output?.[choice.output?.indexOf(ofChoice) ?? -1]?.name;
    if (!inner) throw new Impossible(`"${output}" does not come from the branch with a past`);
    return inner;
  };
  return { graph: branch, inputs, innerInput, innerName };
}

/** All names of the position table: its own, and those of its cast or dequantized copies. */
function positionTables(stored: StoredModel, inner: GraphProto, plan: DecoderPlan): Set<string> {
  const dims = `${plan.targetPositions},${plan.width}`;
  const initializers = [
    ...stored.initializers.map(({ tensor }) => tensor),
    ...(stored.graph.initializer ?? []),
    ...(inner.initializer ?? []),
  ];
  const tables = new Set(
    initializers.filter((tensor) => tensor.dims?.map(toNumber).join() === dims).map(({ name }) => name ?? ''),
  );
  for (const node of [...(stored.graph.node ?? []), ...(inner.node ?? [])]) {
    if (KEEPS_VALUES.has(node.opType ?? '') && tables.has(node.input?.[0] ?? '')) {
      for (const output of node.output ?? []) tables.add(output);
    }
  }
  return tables;
}
const KEEPS_VALUES = new Set(['Cast', 'Identity', 'DequantizeLinear']);

/** Slice and Gather both give `[1 or batch, 1, width]` or `[1, width]`; adding either to the token embeddings broadcasts. */
function replacePositions(graph: GraphProto, tables: ReadonlySet<string>): void {
  const picks = (graph.node ?? []).filter(
    ({ opType, input }) => (opType === 'Slice' || opType === 'Gather') && tables.has(input?.[0] ?? ''),
  );
  if (picks.length !== 1) {
    throw new Impossible(`its positions are picked from a table in ${picks.length} places, wanted one`);
  }
  const [pick] = picks;
  pick.opType = 'Gather';
  pick.input = [pick.input?.[0] ?? '', POSITIONS_INPUT];
  pick.attribute = [{ name: 'axis', type: ATTRIBUTE_TYPE.int, i: 0 }];
}

/** The node that appends a new token's keys or values to the past ones. */
function concatOf({ graph, innerInput }: CallWithPast, past: string): NodeProto {
  const inner = innerInput(past);
  const readers = (graph.node ?? []).filter(
    ({ opType, input }) => opType === 'Concat' && input?.length === 2 && input[0] === inner,
  );
  if (readers.length !== 1)
    throw new Impossible(`"${past}" does not go into exactly one Concat with the new token`);
  return readers[0];
}

/** Nodes allowed between the keys and their product with the queries, and between that product and its softmax. */
const RESHAPES = new Set([
  ...['Transpose', 'Reshape', 'Unsqueeze', 'Squeeze', 'Cast', 'Identity', 'Mul', 'Div'],
  // Optimum also quantizes the product of queries and keys. Its first output has the keys, the others scale them.
  'DynamicQuantizeLinear',
]);
const PRODUCTS = new Set(['MatMul', 'MatMulInteger']);
const KEEPS_SCORES = new Set(['Add', 'Mul', 'Div', 'Reshape', 'Cast', 'Identity', 'Where', 'Max', 'Clip']);

function maskAttention(graph: GraphProto, key: NodeProto, mask: string): void {
  const keys = new Set(key.output);
  const scores = new Set<string>();
  const softmaxes: NodeProto[] = [];
  for (const node of graph.node ?? []) {
    const reads = (names: ReadonlySet<string>): boolean =>
      Boolean(node.input?.some((name) => names.has(name)));
    const type = node.opType ?? '';
    if (reads(scores) && type === 'Softmax') softmaxes.push(node);
    else if (reads(scores) && KEEPS_SCORES.has(type))
      for (const output of node.output ?? []) scores.add(output);
    else if (reads(keys) && PRODUCTS.has(type)) for (const output of node.output ?? []) scores.add(output);
    else if (reads(keys) && RESHAPES.has(type)) for (const output of node.output ?? []) keys.add(output);
  }
  if (softmaxes.length !== 1) {
    throw new Impossible(`the keys of "${key.input?.[0]}" lead to ${softmaxes.length} softmaxes, wanted one`);
  }
  hideEmptySlots(graph, softmaxes[0], mask);
}

/** Scores are `[batch, heads, 1, keys]`, or have batch and heads joined; the mask is reshaped to their shape. */
function hideEmptySlots(graph: GraphProto, softmax: NodeProto, mask: string): void {
  const scores = softmax.input?.[0] ?? '';
  const name = (part: string): string => `lehr.${softmax.output?.[0]}.${part}`;
  const producer = graph.node?.find(({ output }) => output?.includes(scores));
  // Scores cast before the softmax need a mask cast to the same type.
  const isCast = producer?.opType === 'Cast';
  const nodes = [
    makeNode('Shape', [scores], name('shape')),
    makeNode('Reshape', [isCast ? name('cast') : mask, name('shape')], name('mask')),
    makeNode('Add', [scores, name('mask')], name('masked')),
  ];
  if (isCast) {
    nodes.unshift({ ...makeNode('Cast', [mask], name('cast')), attribute: producer.attribute ?? [] });
  }
  softmax.input = [name('masked')];
  graph.node?.splice(graph.node.indexOf(softmax), 0, ...nodes);
}

/** Reduces the model's output `present` to the new token's part. */
function returnNewTokenOnly({ graph, innerName }: CallWithPast, present: string, concat: NodeProto): void {
  const fresh = concat.input?.[1] ?? '';
  const whole = concat.output?.[0] ?? '';
  const outer = innerName(present);
  if (outer === whole) {
    const renamed = `${whole}.whole`;
    for (const node of graph.node ?? [])
      node.input = node.input?.map((name) => (name === whole ? renamed : name));
    concat.output = [renamed];
    graph.node?.push(makeNode('Identity', [fresh], whole));
  } else {
    const producer = graph.node?.find(({ output }) => output?.[0] === outer);
    if (!KEEPS_VALUES.has(producer?.opType ?? '') || producer?.input?.[0] !== whole) {
      throw new Impossible(`"${present}" is not "${concat.input?.[0]}" with the new token appended`);
    }
    producer.input = [fresh];
  }
  const info = graph.output?.find(({ name }) => name === outer);
  const dims = info?.type?.tensorType?.shape?.dim;
  if (dims && dims.length === 4) dims[2] = { dimParam: 'lehr_new_tokens' };
}

/** `[batch, 1, 1, slot + 1]` to `[batch, heads, 1, slot + 1]`, in the type to which `cast` brings the past. */
function spreadOverHeads(mask: string, heads: number, cast: NodeProto | undefined): NodeProto[] {
  const shape = `${mask}.shape`;
  const values = new Uint8Array(BigInt64Array.of(1n, BigInt(heads), 1n, 1n).buffer);
  const constant = makeNode('Constant', [], shape);
  const tensor = { dims: [4], dataType: DATA_TYPE.int64, rawData: values };
  constant.attribute = [{ name: 'value', type: ATTRIBUTE_TYPE.tensor, t: tensor }];
  if (!cast) return [constant, makeNode('Expand', [MASK_INPUT, shape], mask)];
  const half = `${mask}.cast`;
  const toHalf = { ...makeNode('Cast', [MASK_INPUT], half), attribute: cast.attribute ?? [] };
  return [constant, toHalf, makeNode('Expand', [half, shape], mask)];
}

const makeNode = (opType: string, input: string[], output: string): NodeProto => ({
  opType,
  name: output,
  input,
  output: [output],
});

type Dims = NonNullable<
  NonNullable<NonNullable<NonNullable<ValueInfoProto['type']>['tensorType']>['shape']>['dim']
>;

const tensorInfo = (name: string, elemType: number, dim: Dims): ValueInfoProto => ({
  name,
  type: { tensorType: { elemType, shape: { dim } } },
});

function valueNamed(values: readonly ValueInfoProto[], name: string): ValueInfoProto {
  const value = values.find((candidate) => candidate.name === name);
  if (!value) throw new Impossible(`there is no input "${name}"`);
  return value;
}

/**
 * A group normalization, as exporters write it, with the SiLU after it:
 *
 *   x ── Reshape [0, groups, -1] ── InstanceNormalization ── Reshape ── Mul scale ── Add shift ─┬─────────── Mul ── result
 *                                                                                               └─ Sigmoid ──┘
 *
 * The dynamo exporter writes GroupNormalization for all before the SiLU, from opset 21 on. It becomes
 *
 *   x ── Transpose ── GroupNorm ── Transpose ── result
 *
 * and where x is a sum with the result of a convolution, which others may read too,
 *
 *   convolution ── Transpose ─┬─ SkipGroupNorm ─┬─ Transpose ── result
 *   other ──────── Transpose ─┘                 └─ Transpose ── x
 *
 * Of an other that is Unsqueezed from [batch, channels], as what the timestep adds, the operator takes that itself.
 *
 * Scale and shift are float32 for CUDA, whatever x is.
 */
import { DATA_TYPE, type NodeProto, toNumber } from '../schema.ts';
import { attribute } from './known-values.ts';
import { isOperator, type Pattern, type ReadGraph, type Weight } from './read-graph.ts';
import {
  channelsFirst,
  channelsLast,
  floatOf,
  fusedNode,
  intOf,
  node,
  type Replacement,
} from './replace-nodes.ts';

interface Norm {
  /** [batch, channels, height, width] */
  readonly x: string;
  readonly scale: Weight;
  readonly shift: Weight;
  readonly groups: number;
  readonly epsilon: number;
  readonly last: NodeProto;
}

export const groupNorms: Pattern = (graph) => {
  const norms = graph.nodes.flatMap((each) => asOneNode(graph, each) ?? asInstances(graph, each) ?? []);
  const taken = new Set<NodeProto>();
  return norms.map((norm) => {
    const sum = sumOf(graph, norm.x);
    // A sum that two of them read is made by the first.
    const isFree = sum && !taken.has(sum.node);
    if (isFree) taken.add(sum.node);
    return fuse(graph, norm, isFree ? sum : undefined);
  });
};

/** In earlier opsets, the scales of GroupNormalization are those of groups. */
const GROUP_NORMALIZATION = 21;

function asOneNode(graph: ReadGraph, each: NodeProto): Norm | undefined {
  const [x = '', ...weights] = each.input ?? [];
  const [scale, shift] = weights.map((weight) => graph.weight(weight));
  const isOne = isOperator(each, 'GroupNormalization') && graph.opset >= GROUP_NORMALIZATION;
  if (!isOne || !scale || !shift || !graph.isImage(x)) return undefined;
  const groups = toNumber(attribute(each, 'num_groups')?.i);
  return withSizes({ x, scale, shift, groups, epsilon: epsilonOf(each), last: each });
}

function asInstances(graph: ReadGraph, each: NodeProto): Norm | undefined {
  const { index, known } = graph;
  const [grouped = '', ones = '', zeros = ''] = each.input ?? [];
  const there = isOperator(each, 'InstanceNormalization') ? index.producedBy(grouped, 'Reshape') : undefined;
  const [x = '', shape = ''] = there?.input ?? [];
  const [batch, groups, rest, ...more] = known.elements(shape) ?? [];
  const isPlain =
    known.elements(ones)?.every((one) => one === 1) && known.elements(zeros)?.every((zero) => zero === 0);
  if (batch !== 0 || groups === undefined || rest !== -1 || more.length > 0 || !isPlain) return undefined;
  const back = index.onlyReader(each.output?.[0] ?? '');
  if (!isOperator(back, 'Reshape') || index.producedBy(back.input?.[1] ?? '', 'Shape')?.input?.[0] !== x)
    return undefined;
  const multiplied = index.onlyReader(back.output?.[0] ?? '');
  const scale = isOperator(multiplied, 'Mul') ? graph.withWeight(multiplied, isForChannels) : undefined;
  const added = index.onlyReader(multiplied?.output?.[0] ?? '');
  const shift = isOperator(added, 'Add') ? graph.withWeight(added, isForChannels) : undefined;
  if (!scale || !shift || !added) return undefined;
  const epsilon = epsilonOf(each);
  return withSizes({ x, scale: scale.weight, shift: shift.weight, groups, epsilon, last: added });
}

/** [channels, 1, 1] */
const isForChannels = (dims: readonly number[]): boolean =>
  dims.length === 3 && dims[1] === 1 && dims[2] === 1;

const epsilonOf = (each: NodeProto): number => attribute(each, 'epsilon')?.f ?? 1e-5;

/** Undefined where scale and shift are not of as many channels as the groups can have. */
function withSizes(norm: Norm): Norm | undefined {
  const [channels, more] = [norm.scale.dims[0], norm.shift.dims[0]];
  return channels === more && channels % norm.groups === 0 ? norm : undefined;
}

interface Sum {
  readonly node: NodeProto;
  readonly convolved: string;
  readonly other: string;
  /** [batch, channels] */
  readonly flat: string | undefined;
}

function sumOf(graph: ReadGraph, x: string): Sum | undefined {
  const node = graph.index.producedBy(graph.beforeOnes(x), 'Add');
  const terms = node?.input ?? [];
  const at = terms.findLastIndex((term) => graph.index.producedBy(term, 'Conv'));
  const other = terms[1 - at];
  if (!node || at === -1 || graph.weight(other)) return undefined;
  return { node, convolved: terms[at], other, flat: flatOf(graph, other) };
}

/** What becomes the value by dimensions of one that follow its two. */
function flatOf({ index, known }: ReadGraph, value: string): string | undefined {
  const axes: (number | undefined)[] = [];
  let at = value;
  for (let hops = 0; hops < 2; hops += 1) {
    const unsqueezed = index.producedBy(at, 'Unsqueeze');
    if (!unsqueezed) break;
    const [of = '', where = ''] = unsqueezed.input ?? [];
    axes.push(...(known.elements(where) ?? attribute(unsqueezed, 'axes')?.ints?.map(toNumber) ?? []));
    at = of;
  }
  return axes.sort().join() === '2,3' ? at : undefined;
}

function fuse(graph: ReadGraph, norm: Norm, sum: Sum | undefined): Replacement {
  const silu = siluOf(graph, norm.last.output?.[0] ?? '');
  const result = (silu ?? norm.last).output?.[0] ?? '';
  const name = `lehr.group-norm.${result}`;
  const [scale, shift] = ['scale', 'shift'].map((each) => `${name}.${each}`);
  const attributes = [
    intOf('groups', norm.groups),
    intOf('activation', silu ? 1 : 0),
    intOf('channels_last', 1),
    floatOf('epsilon', norm.epsilon),
  ];
  const other = sum?.flat ?? `${name}.other`;
  const inputs = [`${name}.x`, scale, shift, ...(sum ? [other] : [])];
  const outputs = [`${name}.result`, ...(sum ? [`${name}.sum`] : [])];
  const nodes = [
    ...forCuda(norm.scale, scale),
    ...forCuda(norm.shift, shift),
    channelsLast(sum?.convolved ?? norm.x, `${name}.x`),
    ...(sum && !sum.flat ? [channelsLast(sum.other, other)] : []),
    fusedNode(sum ? 'SkipGroupNorm' : 'GroupNorm', name, [inputs, outputs], attributes),
    channelsFirst(`${name}.result`, result),
    ...(sum ? [channelsFirst(`${name}.sum`, sum.node.output?.[0] ?? '')] : []),
  ];
  return { at: sum?.node ?? norm.last, nodes };
}

/** The product of the value and its sigmoid, if nothing else reads either. */
function siluOf({ index }: ReadGraph, value: string): NodeProto | undefined {
  const readers = index.readers(value);
  const sigmoid = readers.find((each) => isOperator(each, 'Sigmoid'));
  const product = readers.find((each) => isOperator(each, 'Mul'));
  const isWhole = sigmoid && index.onlyReader(sigmoid.output?.[0] ?? '') === product;
  return readers.length === 2 && isWhole && !index.isOutput(value) ? product : undefined;
}

/** A weight with one dimension, in float32. */
function forCuda(weight: Weight, to: string): NodeProto[] {
  const squeezed = node('Squeeze', [weight.name], `${to}.squeezed`);
  return [squeezed, node('Cast', [`${to}.squeezed`], to, [intOf('to', DATA_TYPE.float32)])];
}

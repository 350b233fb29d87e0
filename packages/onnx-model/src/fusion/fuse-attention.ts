/**
 * Writes an attention as one node of ONNX Runtime, which makes no matrix of all scores:
 *
 *   queries ── Reshape ─┐
 *   keys ───── Reshape ─┼ MultiHeadAttention ── Reshape ── result
 *   values ─── Reshape ─┘
 *
 * The Reshapes join heads and head size to one dimension, and part them again. They copy nothing, and fail when the sizes of heads were not
 * understood. The node wants a mask for each query and key; exporters also write one that is broadcast, so the mask is expanded first:
 *
 *   mask ── (Max -65504 ── Cast) ── Expand [1, 1, tokens of the queries, tokens of the keys] ── MultiHeadAttention
 *
 * A mask in float32 of an attention in half precision has the lowest float32 where nothing is to be seen, which would become infinite.
 */
import { ATTRIBUTE_TYPE, DATA_TYPE, type NodeProto, type TensorProto } from '../schema.ts';
import type { StoredModel } from '../stored-model.ts';
import type { Attention } from './find-attention.ts';
import { FUSED_DOMAIN, replaceNodes } from './replace-nodes.ts';

const ONES = 'lehr.attention.ones';
/** The axis of tokens. */
const TOKENS = 'lehr.attention.tokens';
/** Of half precision. */
const LOWEST = 'lehr.attention.lowest';

/** Changes the graph in place. */
export function fuseAttentions(stored: StoredModel, attentions: readonly Attention[]): void {
  const first = stored.graph.node?.[0];
  const constants = first ? [{ at: first, nodes: constantNodes(attentions) }] : [];
  const fused = [...fusedNodes(attentions)].map(([at, nodes]) => ({ at, nodes }));
  replaceNodes(stored, [...constants, ...fused]);
}

/** What the nodes of `fusedNodes` read beside values of the graph. */
export function constantNodes(attentions: readonly Attention[]): NodeProto[] {
  const shapes = new Map<string, readonly number[]>();
  for (const { heads, headSize, valueSize, mask } of attentions) {
    for (const size of [headSize, valueSize]) shapes.set(joined(heads, size), [0, 0, heads * size]);
    shapes.set(apart(heads, valueSize), [0, 0, heads, valueSize]);
    if (mask !== undefined) shapes.set(ONES, [1, 1]).set(TOKENS, [1]);
  }
  const lowest = attentions.some(castsMask)
    ? [constantNode(LOWEST, { dataType: DATA_TYPE.float32, floatData: [-65_504] })]
    : [];
  return [...lowest, ...[...shapes].map(([name, sizes]) => constant(name, sizes))];
}

const castsMask = ({ mask, maskType, type }: Attention): boolean => mask !== undefined && maskType !== type;

const joined = (heads: number, size: number): string => `lehr.attention.joined.${heads * size}`;
const apart = (heads: number, size: number): string => `lehr.attention.apart.${heads}.${size}`;

/** For the last node of each attention: the nodes that take the place of all of its nodes. */
export const fusedNodes = (attentions: readonly Attention[]): Map<NodeProto, NodeProto[]> =>
  new Map(attentions.map((attention, at) => [attention.last, fuse(attention, `lehr.attention.${at}`)]));

function fuse(attention: Attention, name: string): NodeProto[] {
  const { queries, keys, values, mask, heads, headSize, valueSize, scale, last } = attention;
  const inputs = [
    { value: queries, size: headSize, to: `${name}.queries` },
    { value: keys, size: headSize, to: `${name}.keys` },
    { value: values, size: valueSize, to: `${name}.values` },
  ];
  return [
    ...inputs.map(({ value, size, to }) => reshape(value, joined(heads, size), to)),
    ...(mask === undefined ? [] : expandMask(attention, mask, `${name}.mask`)),
    {
      domain: FUSED_DOMAIN,
      opType: 'MultiHeadAttention',
      name,
      input: [...inputs.map(({ to }) => to), ...(mask === undefined ? [] : ['', '', `${name}.mask`])],
      output: [`${name}.result`],
      attribute: [
        { name: 'num_heads', type: ATTRIBUTE_TYPE.int, i: heads },
        { name: 'scale', type: ATTRIBUTE_TYPE.float, f: scale },
      ],
    },
    reshape(`${name}.result`, apart(heads, valueSize), last.output?.[0] ?? ''),
  ];
}

/** Not shared by attentions: with one broadcast mask, they may have different numbers of tokens. */
function expandMask(attention: Attention, mask: string, to: string): NodeProto[] {
  const { queries, keys, type } = attention;
  const isCast = castsMask(attention);
  const half = `${to}.half`;
  const cast: NodeProto[] = [
    { opType: 'Max', name: `${to}.finite`, input: [mask, LOWEST], output: [`${to}.finite`] },
    {
      opType: 'Cast',
      name: half,
      input: [`${to}.finite`],
      output: [half],
      attribute: [{ name: 'to', type: ATTRIBUTE_TYPE.int, i: type }],
    },
  ];
  const tokens = [queries, keys].map((value, i) => ({
    value,
    sizes: `${to}.${i}`,
    size: `${to}.${i}.tokens`,
  }));
  return [
    ...(isCast ? cast : []),
    ...tokens.flatMap(({ value, sizes, size }) => [
      { opType: 'Shape', name: sizes, input: [value], output: [sizes] },
      { opType: 'Gather', name: size, input: [sizes, TOKENS], output: [size] },
    ]),
    {
      opType: 'Concat',
      name: `${to}.shape`,
      input: [ONES, ...tokens.map(({ size }) => size)],
      output: [`${to}.shape`],
      attribute: [{ name: 'axis', type: ATTRIBUTE_TYPE.int, i: 0 }],
    },
    { opType: 'Expand', name: to, input: [isCast ? half : mask, `${to}.shape`], output: [to] },
  ];
}

const reshape = (value: string, shape: string, to: string): NodeProto => ({
  opType: 'Reshape',
  name: `${to}.reshape`,
  input: [value, shape],
  output: [to],
});

function constant(name: string, sizes: readonly number[]): NodeProto {
  const rawData = new Uint8Array(BigInt64Array.from(sizes.map(BigInt)).buffer);
  return constantNode(name, { dims: [sizes.length], dataType: DATA_TYPE.int64, rawData });
}

const constantNode = (name: string, t: TensorProto): NodeProto => ({
  opType: 'Constant',
  name,
  output: [name],
  attribute: [{ name: 'value', type: ATTRIBUTE_TYPE.tensor, t }],
});

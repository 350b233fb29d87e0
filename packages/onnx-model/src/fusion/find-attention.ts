/**
 * Finds the attentions of a graph as exporters write them, in the layout [batch, tokens, heads, head size] of their queries, keys and values:
 *
 *   queries ── Transpose 0213 ── (scale) ─┐
 *                                         MatMul ── (scale) ── (Add mask) ── Softmax ─┐
 *   keys ───── Transpose 0231 ── (scale) ─┘                                           MatMul ── Transpose 0213 ── result
 *   values ─── Transpose 0213 ────────────────────────────────────────────────────────┘
 *
 * A scale is a Mul or a Div by a number, in any of the three places. In half precision there may be Casts around what is in float32:
 * scales, the mask and the Softmax. TorchScript computes the number from the size of a head;
 * the dynamo exporter writes it down, and turns the keys in two steps, with Reshapes to three dimensions and back around the second.
 */
import { DATA_TYPE, type NodeProto, toNumber } from '../schema.ts';
import type { StoredModel } from '../stored-model.ts';
import { GraphIndex } from './graph-index.ts';
import { attribute, KnownValues, permutation } from './known-values.ts';
import { isOperator } from './read-graph.ts';

export interface Attention {
  /** The values of the graph with the queries, keys and values: [batch, tokens, heads, head size]. */
  readonly queries: string;
  readonly keys: string;
  readonly values: string;
  readonly heads: number;
  /** Of a head of the queries and keys, and of the values. */
  readonly headSize: number;
  readonly valueSize: number;
  /** The products of queries and keys are multiplied by it. */
  readonly scale: number;
  /** Is added to the scaled products. */
  readonly mask?: string;
  /** TensorProto.DataType of the mask. */
  readonly maskType: number;
  /** TensorProto.DataType of queries, keys, values and result. */
  readonly type: number;
  /** Makes the result, in the layout of the queries. */
  readonly last: NodeProto;
}

export interface FoundAttentions {
  readonly found: readonly Attention[];
  /** For every other Softmax, why it is not known as one. */
  readonly unknown: readonly string[];
}

/** Looks at the graph itself, not at its branches. Changes nothing. */
export function findAttentions(stored: StoredModel): FoundAttentions {
  const index = new GraphIndex(stored);
  const opset = stored.model.opsetImport?.find(({ domain }) => !domain)?.version;
  const search = new Search(index, new KnownValues(index), toNumber(opset));
  const found: Attention[] = [];
  const unknown: string[] = [];
  for (const node of stored.graph.node ?? []) {
    if (!isOperator(node, 'Softmax')) continue;
    const result = search.around(node);
    if (typeof result === 'string') unknown.push(result);
    else found.push(result);
  }
  return { found, unknown };
}

/** One after the other; a damaged file may have nodes in a circle. */
const MAX_SCALES = 4;

interface Scaled {
  readonly value: string;
  readonly scale: number;
  /** TensorProto.DataType of the scaled value, where a Cast made it. */
  readonly type?: number;
}

class Search {
  readonly #index: GraphIndex;
  readonly #known: KnownValues;
  /** Of Softmax when it has none: the last one, but in older opsets the second. */
  readonly #defaultAxis: number;

  constructor(index: GraphIndex, known: KnownValues, opset: number) {
    this.#index = index;
    this.#known = known;
    this.#defaultAxis = opset < 13 ? 1 : -1;
  }

  /** The attention, or why it is not known as one. */
  around(softmax: NodeProto): Attention | string {
    const axis = attribute(softmax, 'axis')?.i;
    if (![-1, 3].includes(axis === undefined ? this.#defaultAxis : toNumber(axis)))
      return 'its Softmax is not over the last dimension';
    const after = this.#after(softmax);
    if (typeof after === 'string') return after;
    const scores = this.#scores(softmax.input?.[0] ?? '');
    if (typeof scores === 'string') return scores;
    const left = this.#scaled(scores.product.input?.[0] ?? '');
    const right = this.#scaled(scores.product.input?.[1] ?? '');
    const queries = this.#turned(left.value, [0, 2, 1, 3]);
    if (queries === undefined) return 'its queries are not turned to [batch, heads, tokens, head size]';
    const keys = this.#turnedKeys(right.value);
    if (keys === undefined) return 'its keys are not turned to [batch, heads, head size, tokens]';
    const sizes = this.#sizes(queries, keys, after.values);
    if (typeof sizes === 'string') return sizes;
    const scale = left.scale * right.scale * scores.scale;
    const { mask } = scores;
    const parts = { queries, keys, values: after.values, ...sizes, scale, last: after.last };
    return { ...parts, ...(mask && { mask }), maskType: scores.type ?? sizes.type };
  }

  /** What follows the Softmax: the product with the values, turned back. */
  #after(softmax: NodeProto): { readonly values: string; readonly last: NodeProto } | string {
    const made = softmax.output?.[0] ?? '';
    if (this.#index.isOutput(made)) return 'its weights are an output of the graph';
    const cast = this.#index.onlyReader(made);
    const weights = (floatCast(cast) === undefined ? made : cast?.output?.[0]) ?? '';
    const product = this.#index.onlyReader(weights);
    if (!isOperator(product, 'MatMul') || product.input?.[0] !== weights)
      return 'its weights are not only multiplied with values';
    const values = this.#turned(product.input[1], [0, 2, 1, 3]);
    if (values === undefined) return 'its values are not turned to [batch, heads, tokens, head size]';
    const last = this.#index.onlyReader(product.output?.[0] ?? '');
    if (!isOperator(last, 'Transpose') || !isOrder(permutation(last), [0, 2, 1, 3]))
      return 'its result is not turned back to [batch, tokens, heads, head size]';
    return { values, last };
  }

  /** What is before the Softmax. */
  #scores(value: string): (Scaled & { readonly product: NodeProto; readonly mask?: string }) | string {
    const sum = this.#index.producedBy(value, 'Add');
    for (const [i, term] of (sum?.input ?? [value]).entries()) {
      const scaled = this.#scaled(term);
      const product = this.#index.producedBy(scaled.value, 'MatMul');
      if (!product) continue;
      if (!this.#index.onlyReader(scaled.value)) return 'its scores are read by other nodes too';
      return { ...scaled, product, ...(sum?.input && { mask: sum.input[1 - i] }) };
    }
    return 'its scores are not a product of queries and keys, with at most a mask added';
  }

  /** Follows multiplications and divisions by known numbers, and Casts between float32 and half precision, upwards. */
  #scaled(value: string): Scaled {
    let scale = 1;
    let type: number | undefined;
    let at = value;
    for (let hops = 0; hops < MAX_SCALES; hops += 1) {
      const node = this.#index.producer(at);
      const [a = '', b = ''] = node?.input ?? [];
      const factor = this.#known.scalar(b);
      const to = floatCast(node);
      if (node?.domain) break;
      if (to !== undefined) [at, type] = [a, type ?? to];
      else if (node?.opType === 'Mul' && factor !== undefined) [at, scale] = [a, scale * factor];
      else if (node?.opType === 'Div' && factor !== undefined) [at, scale] = [a, scale / factor];
      else if (node?.opType === 'Mul' && this.#known.scalar(a) !== undefined)
        [at, scale] = [b, scale * (this.#known.scalar(a) ?? 1)];
      else break;
    }
    return { value: at, scale, ...(type !== undefined && { type }) };
  }

  /** What a Transpose in this order turns into the value. */
  #turned(value: string, order: readonly number[]): string | undefined {
    const node = this.#index.producedBy(value, 'Transpose');
    return node && isOrder(permutation(node), order) ? node.input?.[0] : undefined;
  }

  #turnedKeys(value: string): string | undefined {
    const inTwoSteps = this.#turned(value, [0, 1, 3, 2]) ?? this.#turnedFlat(value);
    return inTwoSteps === undefined
      ? this.#turned(value, [0, 2, 3, 1])
      : this.#turned(inTwoSteps, [0, 2, 1, 3]);
  }

  /** What Reshape, Transpose 021 and Reshape turn into the value: the last two dimensions change places, as in Transpose 0132. */
  #turnedFlat(value: string): string | undefined {
    const back = this.#index.producedBy(value, 'Reshape');
    const flat = back && this.#turned(back.input?.[0] ?? '', [0, 2, 1]);
    const there = flat === undefined ? undefined : this.#index.producedBy(flat, 'Reshape');
    return there?.input?.[0];
  }

  #sizes(queries: string, keys: string, values: string): Sizes | string {
    const [q, k, v] = [queries, keys, values].map((each) => this.#headsAndSize(each));
    if (!q || !k || !v) return 'the number or the size of its heads is not known';
    if (q.heads !== k.heads || q.heads !== v.heads || q.size !== k.size)
      return 'its queries, keys and values have different heads';
    if (q.heads * Math.max(q.size, v.size) > MAX_WIDTH) return 'its heads are too large';
    const [type, ...others] = [queries, keys, values].map((each) => this.#known.floatType(each));
    if (type === undefined || others.some((other) => other !== type))
      return 'the type of its numbers is not known';
    return { heads: q.heads, headSize: q.size, valueSize: v.size, type };
  }

  /**
   * Of [batch, tokens, heads, head size]. One of the two may follow from the dimension that both are cut from; the fused graph does not run where
   * that is wrong (fuse-attention.ts).
   */
  #headsAndSize(value: string): { readonly heads: number; readonly size: number } | undefined {
    const dims = this.#known.dims(value);
    if (dims?.length !== 4) return undefined;
    const [, , heads, size] = dims;
    const reshape = this.#index.producedBy(value, 'Reshape');
    const whole = reshape && this.#known.lastDim(reshape.input?.[0] ?? '');
    if (heads && size) return { heads, size };
    if (!whole) return undefined;
    if (size && whole % size === 0) return { heads: whole / size, size };
    if (heads && whole % heads === 0) return { heads, size: whole / heads };
    return undefined;
  }
}

interface Sizes {
  readonly heads: number;
  readonly headSize: number;
  readonly valueSize: number;
  readonly type: number;
}

/** Of all heads together. Known models have a few thousand; a damaged file may have more, which would need much memory to compare. */
const MAX_WIDTH = 16_384;

/** TensorProto.DataType that the node casts to; undefined when it is no Cast to a floating-point type. */
function floatCast(node: NodeProto | undefined): number | undefined {
  if (!isOperator(node, 'Cast')) return undefined;
  const to = toNumber(attribute(node, 'to')?.i);
  return to === DATA_TYPE.float32 || to === DATA_TYPE.float16 ? to : undefined;
}

const isOrder = (order: readonly number[] | undefined, wanted: readonly number[]): boolean =>
  order?.length === wanted.length && wanted.every((axis, i) => order[i] === axis);

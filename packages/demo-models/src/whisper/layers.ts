/** The layers of Whisper, node by node as torch.onnx exports them. Weights are in the outermost graph, for both branches. */
import type { GraphBuilder } from '../graph-builder.ts';
import { SeededRandom } from '../seeded-random.ts';
import type { TinyWhisperPlan } from './plan.ts';

/** Adds each weight once, however many branches use it. A weight has the same values in every file. */
export class WeightStore {
  readonly #graph: GraphBuilder;
  readonly #seed: number;
  readonly #made = new Set<string>();

  constructor(graph: GraphBuilder, seed: number) {
    this.#graph = graph;
    this.#seed = seed;
  }

  random(name: string, dims: readonly number[], deviation: number): string {
    const length = dims.reduce((a, b) => a * b);
    return this.values(name, dims, () => this.draw(name, length, deviation));
  }

  /** A matrix `[from, to]` whose columns sum to zero: a value common to all inputs has no effect. */
  centred(name: string, from: number, to: number, deviation: number): string {
    return this.values(name, [from, to], () => {
      const matrix = this.draw(name, from * to, deviation);
      for (let column = 0; column < to; column++) {
        let sum = 0;
        for (let row = 0; row < from; row++) sum += matrix[row * to + column];
        for (let row = 0; row < from; row++) matrix[row * to + column] -= sum / from;
      }
      return matrix;
    });
  }

  constant(name: string, length: number, value: number): string {
    return this.values(name, [length], () => new Float32Array(length).fill(value));
  }

  values(name: string, dims: readonly number[], make: () => Float32Array): string {
    if (!this.#made.has(name)) this.#graph.weight(name, dims, make());
    this.#made.add(name);
    return name;
  }

  /** The values of a random weight, which depend only on the seed and the name. */
  draw(name: string, length: number, deviation: number): Float32Array {
    let hash = this.#seed;
    for (const character of name) hash = Math.imul(hash ^ character.charCodeAt(0), 0x01000193);
    return new SeededRandom(hash).normals(length, deviation);
  }
}

/** A graph or branch under construction, and its weights. */
export interface WhisperContext {
  readonly graph: GraphBuilder;
  readonly weights: WeightStore;
  readonly plan: TinyWhisperPlan;
}

/** Scales queries up, so that random attention is not uniform. */
const QUERY_GAIN = 3;

function linear(
  { graph, weights }: WhisperContext,
  name: string,
  input: string,
  from: number,
  to: number,
  gain = 1,
): string {
  const weight = weights.centred(`${name}.weight`, from, to, gain / Math.sqrt(from));
  const bias = weights.random(`${name}.bias`, [to], 0.02);
  return graph.add('Add', [bias, graph.add('MatMul', [input, weight])]);
}

export function layerNorm({ graph, weights, plan }: WhisperContext, name: string, input: string): string {
  const overLast = { axes: [-1], keepdims: 1 };
  const centred = graph.add('Sub', [input, graph.add('ReduceMean', [input], overLast)]);
  const two = weights.constant('scalar.two', 1, 2);
  const variance = graph.add('ReduceMean', [graph.add('Pow', [centred, two])], overLast);
  const epsilon = weights.constant('scalar.epsilon', 1, 1e-5);
  const normal = graph.add('Div', [centred, graph.add('Sqrt', [graph.add('Add', [variance, epsilon])])]);
  const scale = weights.constant(`${name}.weight`, plan.width, 1);
  const shift = weights.constant(`${name}.bias`, plan.width, 0);
  return graph.add('Add', [graph.add('Mul', [normal, scale]), shift]);
}

export function gelu({ graph, weights }: WhisperContext, input: string): string {
  const inner = graph.add('Div', [input, weights.constant('scalar.root2', 1, Math.SQRT2)]);
  const raised = graph.add('Add', [graph.add('Erf', [inner]), weights.constant('scalar.one', 1, 1)]);
  return graph.add('Mul', [graph.add('Mul', [input, raised]), weights.constant('scalar.half', 1, 0.5)]);
}

export function feedForward(context: WhisperContext, name: string, input: string): string {
  const { width, feedForward: inner } = context.plan;
  const up = gelu(context, linear(context, `${name}.fc1`, input, width, inner));
  return linear(context, `${name}.fc2`, up, inner, width);
}

/** `[batch, length, width]` to scaled queries `[batch, heads, length, width / heads]`. */
export function queries(context: WhisperContext, name: string, input: string): string {
  const { graph, weights, plan } = context;
  const projected = linear(context, `${name}.q_proj`, input, plan.width, plan.width, QUERY_GAIN);
  const scale = weights.constant('scalar.head_scale', 1, (plan.width / plan.heads) ** -0.5);
  return splitHeads(context, graph.add('Mul', [projected, scale]));
}

/** `[batch, length, width]` to keys or values `[batch, heads, length, width / heads]`. */
export function keysOrValues(context: WhisperContext, name: string, half: 'k' | 'v', input: string): string {
  const { width } = context.plan;
  return splitHeads(context, linear(context, `${name}.${half}_proj`, input, width, width));
}

function splitHeads({ graph, plan }: WhisperContext, input: string): string {
  const shaped = graph.add('Reshape', [input, graph.ints([0, -1, plan.heads, plan.width / plan.heads])]);
  return graph.add('Transpose', [shaped], { perm: [0, 2, 1, 3] });
}

export interface Attended {
  /** `[batch, queries, width]` */
  readonly output: string;
  /** `[batch, heads, queries, keys]` */
  readonly probabilities: string;
}

/** Older exports join batch and heads and multiply tensors of rank 3; newer ones keep rank 4. */
export function attend(
  context: WhisperContext,
  name: string,
  { q, k, v }: { readonly q: string; readonly k: string; readonly v: string },
  { mask, gain }: { readonly mask?: string | undefined; readonly gain?: number } = {},
): Attended {
  const { graph, plan } = context;
  const isFlat = plan.style === 'transformers-4.33';
  const join = (value: string): string => (isFlat ? joinHeads(context, value) : value);
  const transposed = graph.add('Transpose', [join(k)], { perm: isFlat ? [0, 2, 1] : [0, 1, 3, 2] });
  const scores = graph.add('MatMul', [join(q), transposed]);
  const masked = mask ? graph.add('Add', [scores, mask]) : scores;
  const joined = graph.add('Softmax', [masked], { axis: -1 });
  const mixed = splitJoined(context, graph.add('MatMul', [joined, join(v)]), q);
  const rows = graph.add('Transpose', [mixed], { perm: [0, 2, 1, 3] });
  const wide = graph.add('Reshape', [rows, graph.ints([0, 0, plan.width])]);
  return {
    output: linear(context, `${name}.out_proj`, wide, plan.width, plan.width, gain),
    probabilities: splitJoined(context, joined, q),
  };
}

function joinHeads({ graph, plan }: WhisperContext, value: string): string {
  const rows = graph.add('Mul', [batchOf(graph, value), graph.ints([plan.heads])]);
  const shape = graph.add('Concat', [rows, graph.ints([-1]), graph.ints([plan.width / plan.heads])], {
    axis: 0,
  });
  return graph.add('Reshape', [value, shape]);
}

/** `[batch * heads, queries, any]` to `[batch, heads, queries, any]`, with batch and queries of `q`. */
function splitJoined({ graph, plan }: WhisperContext, value: string, q: string): string {
  if (plan.style !== 'transformers-4.33') return value;
  const length = graph.add('Gather', [graph.add('Shape', [q]), graph.ints([2])], { axis: 0 });
  const shape = graph.add('Concat', [batchOf(graph, q), graph.ints([plan.heads]), length, graph.ints([-1])], {
    axis: 0,
  });
  return graph.add('Reshape', [value, shape]);
}

const batchOf = (graph: GraphBuilder, value: string): string =>
  graph.add('Gather', [graph.add('Shape', [value]), graph.ints([0])], { axis: 0 });

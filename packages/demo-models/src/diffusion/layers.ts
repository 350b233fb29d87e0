/** The layers of the three graphs, with weights that keep the scale of the activations near 1. */
import type { GraphBuilder } from '../graph-builder.ts';
import type { SeededRandom } from '../seeded-random.ts';

export interface LayerContext {
  readonly graph: GraphBuilder;
  readonly random: SeededRandom;
}

/** `[batch, from, h, w]` to `[batch, to, h, w]`, padded to keep the size. */
export function conv(
  context: LayerContext,
  name: string,
  input: string,
  from: number,
  to: number,
  kernel: 1 | 3,
): string {
  const { graph, random } = context;
  const fanIn = from * kernel * kernel;
  const weight = graph.weight(
    `${name}.weight`,
    [to, from, kernel, kernel],
    random.normals(to * fanIn, Math.sqrt(1 / fanIn)),
  );
  const bias = graph.weight(`${name}.bias`, [to], random.normals(to, 0.05));
  const pad = (kernel - 1) / 2;
  return graph.add('Conv', [input, weight, bias], {
    kernel_shape: [kernel, kernel],
    pads: [pad, pad, pad, pad],
  });
}

/** Projects the last axis from `from` to `to`. */
export function linear(
  context: LayerContext,
  name: string,
  input: string,
  from: number,
  to: number,
  gain = 1,
): string {
  const { graph, random } = context;
  const weight = graph.weight(
    `${name}.weight`,
    [from, to],
    random.normals(from * to, gain / Math.sqrt(from)),
  );
  return graph.add('MatMul', [input, weight]);
}

/** One head: `[batch, queries, width]` attends to `[batch, keys, contextWidth]`. */
export function attention(
  context: LayerContext,
  name: string,
  queries: string,
  keys: string,
  width: number,
  contextWidth: number,
): string {
  const { graph } = context;
  const q = linear(context, `${name}.to_q`, queries, width, width);
  const k = linear(context, `${name}.to_k`, keys, contextWidth, width);
  const v = linear(context, `${name}.to_v`, keys, contextWidth, width);
  const scale = graph.weight(`${name}.scale`, [1], Float32Array.of(1 / Math.sqrt(width)));
  const scores = graph.add('Mul', [
    graph.add('MatMul', [q, graph.add('Transpose', [k], { perm: [0, 2, 1] })]),
    scale,
  ]);
  const attended = graph.add('MatMul', [graph.add('Softmax', [scores], { axis: -1 }), v]);
  return linear(context, `${name}.to_out`, attended, width, width);
}

/** Normalises the last axis to mean 0 and deviation 1, then scales it. */
export function layerNorm(context: LayerContext, name: string, input: string, width: number): string {
  const { graph } = context;
  const overLast = { axes: [-1], keepdims: 1 };
  const centred = graph.add('Sub', [input, graph.add('ReduceMean', [input], overLast)]);
  const variance = graph.add('ReduceMean', [graph.add('Mul', [centred, centred])], overLast);
  const epsilon = graph.weight(`${name}.epsilon`, [1], Float32Array.of(1e-5));
  const normal = graph.add('Div', [centred, graph.add('Sqrt', [graph.add('Add', [variance, epsilon])])]);
  const weight = graph.weight(`${name}.weight`, [width], new Float32Array(width).fill(1));
  return graph.add('Mul', [normal, weight]);
}

/** Normalises each channel over the picture to mean 0 and deviation 1. */
export function instanceNorm(context: LayerContext, name: string, input: string, channels: number): string {
  const { graph } = context;
  const scale = graph.weight(`${name}.weight`, [channels], new Float32Array(channels).fill(1));
  const shift = graph.weight(`${name}.bias`, [channels], new Float32Array(channels));
  return graph.add('InstanceNormalization', [input, scale, shift], { epsilon: { float: 1e-5 } });
}

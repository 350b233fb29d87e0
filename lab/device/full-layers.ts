/** The layers of the full-size graphs, as torch's TorchScript exporter writes those of diffusers. */
import type { GraphBuilder } from '../../packages/demo-models/src/graph-builder.ts';
import type { SharedWeights } from './shared-weights.ts';

export interface FullLayers {
  readonly graph: GraphBuilder;
  readonly weights: SharedWeights;
}

const GROUPS = 32;

export interface ConvOptions {
  readonly kernel?: 1 | 3;
  readonly stride?: 1 | 2;
}

/** `[batch, from, h, w]` to `[batch, to, h / stride, w / stride]`. */
export function conv(
  { graph, weights }: FullLayers,
  name: string,
  input: string,
  [from, to]: readonly [number, number],
  { kernel = 3, stride = 1 }: ConvOptions = {},
): string {
  const weight = weights.add(graph, `${name}.weight`, [to, from, kernel, kernel], from * kernel * kernel);
  const bias = graph.weight(`${name}.bias`, [to], new Float32Array(to));
  const pad = (kernel - 1) / 2;
  return graph.add('Conv', [input, weight, bias], {
    kernel_shape: [kernel, kernel],
    pads: [pad, pad, pad, pad],
    strides: [stride, stride],
  });
}

/** Projects the last axis. */
export function linear(
  { graph, weights }: FullLayers,
  name: string,
  input: string,
  [from, to]: readonly [number, number],
  hasBias = true,
): string {
  const product = graph.add('MatMul', [input, weights.add(graph, `${name}.weight`, [from, to], from)]);
  return hasBias
    ? graph.add('Add', [graph.weight(`${name}.bias`, [to], new Float32Array(to)), product])
    : product;
}

export function groupNorm({ graph }: FullLayers, name: string, input: string, channels: number): string {
  const scale = graph.weight(`${name}.scale`, [GROUPS], new Float32Array(GROUPS).fill(1));
  const shift = graph.weight(`${name}.shift`, [GROUPS], new Float32Array(GROUPS));
  const grouped = graph.add('Reshape', [input, graph.ints([0, GROUPS, -1])]);
  const normal = graph.add('InstanceNormalization', [grouped, scale, shift], { epsilon: { float: 1e-5 } });
  const back = graph.add('Reshape', [normal, graph.add('Shape', [input])]);
  const weight = graph.weight(`${name}.weight`, [channels, 1, 1], new Float32Array(channels).fill(1));
  const bias = graph.weight(`${name}.bias`, [channels, 1, 1], new Float32Array(channels));
  return graph.add('Add', [graph.add('Mul', [back, weight]), bias]);
}

export function layerNorm({ graph }: FullLayers, name: string, input: string, width: number): string {
  const weight = graph.weight(`${name}.weight`, [width], new Float32Array(width).fill(1));
  const bias = graph.weight(`${name}.bias`, [width], new Float32Array(width));
  return graph.add('LayerNormalization', [input, weight, bias], { axis: -1, epsilon: { float: 1e-5 } });
}

/** Two convolutions with what the timestep adds between them, when there is one: `[batch, timeWidth]`. */
export function resnet(
  layers: FullLayers,
  name: string,
  input: string,
  [from, to]: readonly [number, number],
  time?: { readonly value: string; readonly width: number },
): string {
  const { graph } = layers;
  let hidden = conv(layers, `${name}.conv1`, graph.silu(groupNorm(layers, `${name}.norm1`, input, from)), [
    from,
    to,
  ]);
  if (time) {
    const added = linear(layers, `${name}.time_emb_proj`, graph.silu(time.value), [time.width, to]);
    hidden = graph.add('Add', [hidden, graph.unsqueeze(added, [2, 3])]);
  }
  hidden = conv(layers, `${name}.conv2`, graph.silu(groupNorm(layers, `${name}.norm2`, hidden, to)), [
    to,
    to,
  ]);
  const skip = from === to ? input : conv(layers, `${name}.conv_shortcut`, input, [from, to], { kernel: 1 });
  return graph.add('Add', [skip, hidden]);
}

export interface AttentionWidths {
  readonly width: number;
  readonly contextWidth: number;
  readonly heads: number;
  /** Whether queries, keys and values have biases. */
  readonly hasBias?: boolean;
}

/** `[batch, queries, width]` attends to `[batch, keys, contextWidth]`. */
export function attention(
  layers: FullLayers,
  name: string,
  queries: string,
  context: string,
  { width, contextWidth, heads, hasBias = false }: AttentionWidths,
): string {
  const { graph } = layers;
  const size = width / heads;
  const split = (value: string, perm: readonly number[]): string =>
    graph.add('Transpose', [graph.add('Reshape', [value, graph.ints([0, -1, heads, size])])], { perm });
  const q = split(linear(layers, `${name}.to_q`, queries, [width, width], hasBias), [0, 2, 1, 3]);
  const k = split(linear(layers, `${name}.to_k`, context, [contextWidth, width], hasBias), [0, 2, 3, 1]);
  const v = split(linear(layers, `${name}.to_v`, context, [contextWidth, width], hasBias), [0, 2, 1, 3]);
  // Both sides are scaled before the product, so that it does not overflow in float16.
  const root = graph.weight(`${name}.scale`, [1], Float32Array.of(size ** -0.25));
  const scores = graph.add('MatMul', [graph.add('Mul', [q, root]), graph.add('Mul', [k, root])]);
  const seen = graph.add('MatMul', [graph.add('Softmax', [scores], { axis: -1 }), v]);
  const joined = graph.add('Reshape', [
    graph.add('Transpose', [seen], { perm: [0, 2, 1, 3] }),
    graph.ints([0, -1, width]),
  ]);
  return linear(layers, `${name}.to_out.0`, joined, [width, width]);
}

/** Twice the height and width. */
export function double(layers: FullLayers, name: string, input: string, channels: number): string {
  const { graph } = layers;
  const scales = graph.floats([4], Float32Array.of(1, 1, 2, 2));
  const resized = graph.add('Resize', [input, '', scales], {
    mode: 'nearest',
    nearest_mode: 'floor',
    coordinate_transformation_mode: 'asymmetric',
  });
  return conv(layers, `${name}.upsamplers.0.conv`, resized, [channels, channels]);
}

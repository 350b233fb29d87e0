/** The UNet of Stable Diffusion 1.5 at full size, with random weights: 860 million parameters. */
import { type FloatType, GraphBuilder } from '../../packages/demo-models/src/graph-builder.ts';
import {
  attention,
  conv,
  double,
  type FullLayers,
  groupNorm,
  layerNorm,
  linear,
  resnet,
} from './full-layers.ts';
import type { SharedWeights } from './shared-weights.ts';

export const UNET_WIDTHS = [320, 640, 1280, 1280] as const;
export const TEXT_WIDTH = 768;
const LATENT_CHANNELS = 4;
const HEADS = 8;
const LAYERS = 2;

interface Context extends FullLayers {
  readonly time: { readonly value: string; readonly width: number };
  readonly text: string;
  readonly widths: readonly number[];
}

/** Returns the bytes of the graph; its weights are in the file of SharedWeights. */
export function buildFullUnet(
  type: FloatType,
  weights: SharedWeights,
  widths: readonly number[] = UNET_WIDTHS,
): Uint8Array {
  const graph = new GraphBuilder('unet', 17, type);
  const layers: FullLayers = { graph, weights };
  const dims = ['batch_size', LATENT_CHANNELS, 'height', 'width'] as const;
  const sample = graph.input('sample', type, dims);
  const timestep = graph.input('timestep', 'int64', []);
  const text = graph.input('encoder_hidden_states', type, ['batch_size', 'sequence_length', TEXT_WIDTH]);
  const time = timeEmbedding(layers, widths[0], timestep, sample);
  const context: Context = { ...layers, text, time, widths };

  let hidden = conv(layers, 'conv_in', sample, [LATENT_CHANNELS, widths[0]]);
  const skips: [value: string, channels: number][] = [[hidden, widths[0]]];
  let channels = widths[0];
  for (const [block, width] of widths.entries()) {
    const name = `down_blocks.${block}`;
    for (let layer = 0; layer < LAYERS; layer++) {
      hidden = resnet(layers, `${name}.resnets.${layer}`, hidden, [channels, width], context.time);
      channels = width;
      if (block < widths.length - 1)
        hidden = transformer(context, `${name}.attentions.${layer}`, hidden, width);
      skips.push([hidden, width]);
    }
    if (block === widths.length - 1) break;
    hidden = conv(layers, `${name}.downsamplers.0.conv`, hidden, [width, width], { stride: 2 });
    skips.push([hidden, width]);
  }
  hidden = resnet(layers, 'mid_block.resnets.0', hidden, [channels, channels], context.time);
  hidden = transformer(context, 'mid_block.attentions.0', hidden, channels);
  hidden = resnet(layers, 'mid_block.resnets.1', hidden, [channels, channels], context.time);
  hidden = upBlocks(context, hidden, skips);
  hidden = graph.silu(groupNorm(layers, 'conv_norm_out', hidden, widths[0]));
  graph.output('out_sample', conv(layers, 'conv_out', hidden, [widths[0], LATENT_CHANNELS]), type, dims);
  return graph.build(undefined).bytes;
}

function upBlocks(context: Context, input: string, skips: [value: string, channels: number][]): string {
  const { graph, time, widths } = context;
  let hidden = input;
  let channels = widths[widths.length - 1];
  for (const [block, width] of widths.toReversed().entries()) {
    const name = `up_blocks.${block}`;
    for (let layer = 0; layer <= LAYERS; layer++) {
      const [skip, skipChannels] = skips.pop() ?? ['', 0];
      const joined = graph.add('Concat', [hidden, skip], { axis: 1 });
      hidden = resnet(context, `${name}.resnets.${layer}`, joined, [channels + skipChannels, width], time);
      channels = width;
      if (block > 0) hidden = transformer(context, `${name}.attentions.${layer}`, hidden, width);
    }
    if (block < widths.length - 1) hidden = double(context, name, hidden, width);
  }
  return hidden;
}

/** Cosines and sines of the timestep, through two layers. */
function timeEmbedding(layers: FullLayers, first: number, timestep: string, sample: string) {
  const { graph } = layers;
  const half = first / 2;
  const width = 4 * first;
  const frequencies = Float32Array.from({ length: half }, (_, i) => Math.exp((-Math.log(10_000) * i) / half));
  const batch = graph.add('Gather', [graph.add('Shape', [sample]), graph.ints([0])], { axis: 0 });
  const rows = graph.add('Expand', [graph.unsqueeze(timestep, [0]), batch]);
  const column = graph.cast(graph.unsqueeze(rows, [1]), 'float32');
  const angles = graph.add('Mul', [column, graph.floats([1, half], frequencies)]);
  const waves = graph.add('Concat', [graph.add('Cos', [angles]), graph.add('Sin', [angles])], { axis: 1 });
  const inner = linear(layers, 'time_embedding.linear_1', graph.cast(waves, graph.floatType), [first, width]);
  const value = linear(layers, 'time_embedding.linear_2', graph.silu(inner), [width, width]);
  return { value, width };
}

/** Pixels attend to each other and to the prompt. */
function transformer(context: Context, name: string, input: string, width: number): string {
  const { graph, text } = context;
  const normal = groupNorm(context, `${name}.norm`, input, width);
  const projected = conv(context, `${name}.proj_in`, normal, [width, width], { kernel: 1 });
  const flat = graph.add('Reshape', [projected, graph.ints([0, width, -1])]);
  let pixels = graph.add('Transpose', [flat], { perm: [0, 2, 1] });
  const block = `${name}.transformer_blocks.0`;
  const own = layerNorm(context, `${block}.norm1`, pixels, width);
  const sizes = { width, heads: HEADS };
  const seen = attention(context, `${block}.attn1`, own, own, { ...sizes, contextWidth: width });
  pixels = graph.add('Add', [seen, pixels]);
  const query = layerNorm(context, `${block}.norm2`, pixels, width);
  const read = attention(context, `${block}.attn2`, query, text, { ...sizes, contextWidth: TEXT_WIDTH });
  pixels = graph.add('Add', [read, pixels]);
  const thought = feedForward(
    context,
    `${block}.ff`,
    layerNorm(context, `${block}.norm3`, pixels, width),
    width,
  );
  pixels = graph.add('Add', [thought, pixels]);
  const back = graph.add('Reshape', [
    graph.add('Transpose', [pixels], { perm: [0, 2, 1] }),
    graph.add('Shape', [input]),
  ]);
  const out = conv(context, `${name}.proj_out`, back, [width, width], { kernel: 1 });
  return graph.add('Add', [out, input]);
}

/** GEGLU: one half of the projection, times GELU of the other. */
function feedForward(context: Context, name: string, input: string, width: number): string {
  const { graph } = context;
  const inner = 4 * width;
  const projected = linear(context, `${name}.net.0.proj`, input, [width, 2 * inner]);
  const part = (from: number, to: number): string =>
    graph.add('Slice', [projected, graph.ints([from]), graph.ints([to]), graph.ints([2])]);
  const [value, gate] = [part(0, inner), part(inner, 2 * inner)];
  const constant = (key: string, of: number) => graph.weight(`${name}.${key}`, [1], Float32Array.of(of));
  const erf = graph.add('Erf', [graph.add('Div', [gate, constant('root', Math.SQRT2)])]);
  const shifted = graph.add('Add', [erf, constant('one', 1)]);
  const gelu = graph.add('Mul', [graph.add('Mul', [gate, shifted]), constant('half', 0.5)]);
  return linear(context, `${name}.net.2`, graph.add('Mul', [value, gelu]), [inner, width]);
}

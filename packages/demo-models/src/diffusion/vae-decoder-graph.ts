import { type BuiltGraph, GraphBuilder } from '../graph-builder.ts';
import { SeededRandom } from '../seeded-random.ts';
import { conv, type LayerContext } from './layers.ts';
import type { TinyDiffusionPlan } from './plan.ts';

/** Channels at latent size and after each doubling; one doubling fewer than entries, as in diffusers' configs. */
export const VAE_CHANNELS = [8, 8, 12, 16] as const;

/** `latent_sample [batch, channels, h, w]` to `sample [batch, 3, 8h, 8w]`, about -1 to 1. */
export function buildVaeDecoder(plan: TinyDiffusionPlan): BuiltGraph {
  const graph = new GraphBuilder('vae_decoder', plan.opset, plan.dtype);
  const context: LayerContext = { graph, random: new SeededRandom(plan.seed + 3) };
  const latentDims = ['batch_size', plan.latentChannels, 'height_latent', 'width_latent'] as const;

  const latent = graph.input('latent_sample', plan.dtype, latentDims);
  // The input latent was divided by scaling_factor: it is about 5 times too large for the layers.
  const scaled = graph.add('Mul', [
    latent,
    graph.weight('in.gain', [1], Float32Array.of(plan.scalingFactor)),
  ]);
  const [outermost, ...inner] = VAE_CHANNELS.toReversed();
  let hidden = graph.silu(conv(context, 'decoder.conv_in', scaled, plan.latentChannels, outermost, 3));
  let channels: number = outermost;
  for (const [block, to] of inner.entries()) {
    hidden = graph.silu(conv(context, `decoder.up_blocks.${block}`, double(graph, hidden), channels, to, 3));
    channels = to;
  }
  const picture = conv(context, 'decoder.conv_out', hidden, channels, 3, 3);
  const gain = graph.weight('out.gain', [1], Float32Array.of(4));
  graph.output('sample', graph.add('Mul', [picture, gain]), plan.dtype, ['batch_size', 3, 'height', 'width']);
  return graph.build(plan.externalDataFile);
}

function double(graph: GraphBuilder, input: string): string {
  // Resize-11 needs an input for its region of interest, which may be empty; from 13 on it can be omitted.
  const region = graph.floats([0], new Float32Array(0));
  const scales = graph.floats([4], Float32Array.of(1, 1, 2, 2));
  return graph.add('Resize', [input, region, scales], {
    mode: 'nearest',
    nearest_mode: 'floor',
    coordinate_transformation_mode: 'asymmetric',
  });
}

import { type BuiltGraph, GraphBuilder } from '../graph-builder.ts';
import { SeededRandom } from '../seeded-random.ts';
import { conv, type LayerContext } from './layers.ts';
import type { TinyDiffusionPlan } from './plan.ts';
import { VAE_CHANNELS } from './vae-decoder-graph.ts';

/** `sample [batch, 3, 8h, 8w]` to `latent_parameters [batch, 2 * channels, h, w]`: means, then logarithms of variances. */
export function buildVaeEncoder(plan: TinyDiffusionPlan): BuiltGraph {
  const graph = new GraphBuilder('vae_encoder', plan.opset, plan.dtype);
  const context: LayerContext = { graph, random: new SeededRandom(plan.seed + 4) };
  const scale = 2 ** (VAE_CHANNELS.length - 1);
  const sample = graph.input('sample', plan.dtype, ['batch_size', 3, 'height', 'width']);
  const small = graph.add('AveragePool', [sample], { kernel_shape: [scale, scale], strides: [scale, scale] });
  const channels = 2 * plan.latentChannels;
  const hidden = graph.silu(conv(context, 'encoder.conv_in', small, 3, 16, 3));
  const moments = conv(context, 'quant_conv', hidden, 16, channels, 1);
  // About as wide as the latents that the decoder takes, which are 1 / scaling_factor.
  const gain = graph.weight('out.gain', [1], Float32Array.of(4));
  const dims = ['batch_size', channels, 'height_latent', 'width_latent'] as const;
  graph.output('latent_parameters', graph.add('Mul', [moments, gain]), plan.dtype, dims);
  return graph.build(plan.externalDataFile);
}

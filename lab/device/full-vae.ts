/** The VAE decoder of Stable Diffusion 1.5 at full size, with random weights: 49 million parameters. */
import { type FloatType, GraphBuilder } from '../../packages/demo-models/src/graph-builder.ts';
import { attention, conv, double, type FullLayers, groupNorm, resnet } from './full-layers.ts';
import type { SharedWeights } from './shared-weights.ts';

/** From the latent to the picture. */
export const VAE_WIDTHS = [512, 512, 256, 128] as const;
const LATENT_CHANNELS = 4;
const RESNETS = 3;

/** Returns the bytes of the graph; its weights are in the file of SharedWeights. */
export function buildFullVae(
  type: FloatType,
  weights: SharedWeights,
  widths: readonly number[] = VAE_WIDTHS,
): Uint8Array {
  const graph = new GraphBuilder('vae_decoder', 17, type);
  const layers: FullLayers = { graph, weights };
  const latent = graph.input('latent_sample', type, [
    'batch_size',
    LATENT_CHANNELS,
    'height_latent',
    'width_latent',
  ]);
  const [widest] = widths;
  let hidden = conv(layers, 'post_quant_conv', latent, [LATENT_CHANNELS, LATENT_CHANNELS], { kernel: 1 });
  hidden = conv(layers, 'decoder.conv_in', hidden, [LATENT_CHANNELS, widest]);
  hidden = resnet(layers, 'decoder.mid_block.resnets.0', hidden, [widest, widest]);
  hidden = ownAttention(layers, hidden, widest);
  hidden = resnet(layers, 'decoder.mid_block.resnets.1', hidden, [widest, widest]);
  let channels = widest;
  for (const [block, width] of widths.entries()) {
    const name = `decoder.up_blocks.${block}`;
    for (let layer = 0; layer < RESNETS; layer++) {
      hidden = resnet(layers, `${name}.resnets.${layer}`, hidden, [channels, width]);
      channels = width;
    }
    if (block < widths.length - 1) hidden = double(layers, name, hidden, width);
  }
  hidden = graph.silu(groupNorm(layers, 'decoder.conv_norm_out', hidden, channels));
  const picture = conv(layers, 'decoder.conv_out', hidden, [channels, 3]);
  graph.output('sample', picture, type, ['batch_size', 3, 'height', 'width']);
  return graph.build(undefined).bytes;
}

/** One head. */
function ownAttention(layers: FullLayers, input: string, width: number): string {
  const { graph } = layers;
  const name = 'decoder.mid_block.attentions.0';
  const normal = groupNorm(layers, `${name}.group_norm`, input, width);
  const flat = graph.add('Reshape', [normal, graph.ints([0, width, -1])]);
  const pixels = graph.add('Transpose', [flat], { perm: [0, 2, 1] });
  const seen = attention(layers, name, pixels, pixels, {
    width,
    contextWidth: width,
    heads: 1,
    hasBias: true,
  });
  const back = graph.add('Transpose', [seen], { perm: [0, 2, 1] });
  return graph.add('Add', [graph.add('Reshape', [back, graph.add('Shape', [input])]), input]);
}

/** A pipeline in the layout of Stable Diffusion 1.5 with random weights, to measure a device with: its pictures show nothing. */
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FloatType } from '../../packages/demo-models/src/graph-builder.ts';
import { writeTinyDiffusion } from '../../packages/demo-models/src/index.ts';
import { buildFullUnet, TEXT_WIDTH, UNET_WIDTHS } from './full-unet.ts';
import { buildFullVae, VAE_WIDTHS } from './full-vae.ts';
import { SharedWeights, WEIGHTS_FILE } from './shared-weights.ts';

/**
 * Writes the folder, unless it is complete. UNet and VAE decoder have the published sizes; the text encoder is a tiny one with the
 * published width, because it runs once for a prompt.
 */
export async function writeFullModel(folder: string, type: FloatType): Promise<void> {
  const done = join(folder, 'done');
  if (existsSync(done)) return;
  await writeTinyDiffusion(folder, { dtype: type, embeddingDim: TEXT_WIDTH });
  await writeGraph(join(folder, 'unet'), type, buildFullUnet, {
    _class_name: 'UNet2DConditionModel',
    block_out_channels: UNET_WIDTHS,
    cross_attention_dim: TEXT_WIDTH,
    in_channels: 4,
    out_channels: 4,
    sample_size: 64,
  });
  await writeGraph(join(folder, 'vae_decoder'), type, buildFullVae, {
    _class_name: 'AutoencoderKL',
    block_out_channels: VAE_WIDTHS.toReversed(),
    in_channels: 3,
    latent_channels: 4,
    out_channels: 3,
    sample_size: 512,
    scaling_factor: 0.18215,
  });
  await writeFile(done, '');
}

async function writeGraph(
  folder: string,
  type: FloatType,
  build: (type: FloatType, weights: SharedWeights) => Uint8Array,
  config: object,
): Promise<void> {
  const weights = new SharedWeights(type);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'model.onnx'), build(type, weights));
  await weights.write(join(folder, WEIGHTS_FILE));
  await writeFile(join(folder, 'config.json'), `${JSON.stringify(config, null, 2)}\n`);
}

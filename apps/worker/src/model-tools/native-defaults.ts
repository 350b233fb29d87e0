/** The fields of a new diffusion model in models.yaml that follow from its configs. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

const UnetSchema = z.looseObject({ sample_size: z.int().positive() });
const VaeSchema = z.looseObject({ block_out_channels: z.array(z.number()).min(1) });

/** Of the registry; a model of this size needs no entry. */
const USUAL_SIZE = 512;
const USUAL_MAX_SIZE = 1024;
const USUAL = { steps: 20, guidance: 7.5, sampler: 'euler' };
/** The halvings of Stable Diffusion's VAE. */
const USUAL_BLOCKS = 4;

/** The size that the model was trained at, as its default; nothing when it is the usual one or is not known. */
export async function nativeDefaults(folder: string): Promise<Record<string, unknown>> {
  const unet = UnetSchema.safeParse(await readJson(join(folder, 'unet/config.json')));
  if (!unet.success) return {};
  const vae = VaeSchema.safeParse(await readJson(join(folder, 'vae_decoder/config.json')));
  const blocks = vae.success ? vae.data.block_out_channels.length : USUAL_BLOCKS;
  const size = unet.data.sample_size * 2 ** (blocks - 1);
  if (size === USUAL_SIZE) return {};
  return {
    defaults: { width: size, height: size, ...USUAL },
    ...(size > USUAL_MAX_SIZE && { limits: { max_size: size, max_pixels: size * size } }),
  };
}

async function readJson(path: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(path, 'utf8'));
  } catch {
    return undefined;
  }
}

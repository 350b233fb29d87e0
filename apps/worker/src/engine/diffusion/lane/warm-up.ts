/**
 * Warm-up of a diffusion model, before it serves any job: runs every graph once, measures the duration of a step at each
 * rung of the row ladder for as long as more rows increase the throughput, and fits the map that makes previews.
 */
import { type Clock, LehrError } from '@lehr/shared';
import { climbLadder, ROW_LADDER, type RowCap } from '../../lanes/row-cap.ts';
import { probeRow } from '../folder/check-unet.ts';
import type { DiffusionModel } from '../folder/diffusion-folder.ts';
import { fitLatentRgb, type LatentRgb } from '../latent-rgb.ts';

export async function warmUp(
  model: DiffusionModel,
  picture: { readonly width: number; readonly height: number },
  cap: RowCap,
  clock: Clock,
): Promise<LatentRgb | undefined> {
  const { unet, vae, tokenizer } = model;
  const size = { width: picture.width / vae.scaleFactor, height: picture.height / vae.scaleFactor };
  const row = probeRow(unet, size, tokenizer.maxTokens, 1);
  // A graph with a fixed batch size has only one row count.
  const rungs = unet.fixedRows === undefined ? ROW_LADDER : [unet.fixedRows];
  const run = (rows: number) => unet.predict(new Array(rows).fill(row), size);
  await climbLadder(cap, { clock, run, rungs });
  try {
    return await fitLatentRgb(vae, picture, clock);
  } catch (error) {
    // A VAE that cannot decode synthetic latents may still decode real ones; missing previews must not refuse the model.
    if (error instanceof LehrError && error.code === 'numeric-error') return undefined;
    throw error;
  }
}

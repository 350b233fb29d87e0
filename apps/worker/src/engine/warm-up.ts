/**
 * Runs every graph of a model once before anybody waits for it, measures how long a step takes at each rung of the row
 * ladder, as far up as more rows still pay, and learns from the VAE how to make previews.
 */
import { type Clock, LehrError } from '@lehr/shared';
import { fitLatentRgb, type LatentRgb } from '../diffusion/latent-rgb.ts';
import type { DiffusionModel } from '../models/diffusion/diffusion-folder.ts';
import { ROW_LADDER, type RowCap, worthWidening } from './row-cap.ts';

/** A ladder that would take longer is cut short; what was not measured is learned while serving. */
const BUDGET_MS = 60_000;

export async function warmUp(
  model: DiffusionModel,
  picture: { readonly width: number; readonly height: number },
  cap: RowCap,
  clock: Clock,
): Promise<LatentRgb | undefined> {
  const { unet, vae, textEncoder } = model;
  const startedAt = clock.monotonic();
  const size = { width: picture.width / vae.scaleFactor, height: picture.height / vae.scaleFactor };
  const [promptEmbedding] = await textEncoder.encode(['']);
  const latent = new Float32Array(unet.latentChannels * size.width * size.height);
  const row = { latent, promptEmbedding, timestep: 1 };
  // An aligned graph of a fixed batch size has nothing to choose.
  const rungs = unet.fixedRows === undefined ? ROW_LADDER : [unet.fixedRows];
  for (const rows of rungs) {
    const isOverBudget = clock.monotonic() - startedAt > BUDGET_MS;
    if (isOverBudget || rows > cap.ceiling || !worthWidening(cap.measurements)) break;
    const batch = new Array(rows).fill(row);
    try {
      // The first run of a shape allocates and, on some providers, tunes.
      await unet.predict(batch, size);
      const measuredFrom = clock.monotonic();
      await unet.predict(batch, size);
      cap.observe(rows, clock.monotonic() - measuredFrom);
    } catch (error) {
      if (rows === 1 || unet.fixedRows !== undefined) throw error;
      // The ladder found the device's limit.
      cap.limit(rows / 2);
      break;
    }
  }
  try {
    return await fitLatentRgb(vae, picture, clock);
  } catch (error) {
    // A VAE that cannot decode made-up latents may still decode real ones; previews are not worth a model.
    if (error instanceof LehrError && error.code === 'numeric-error') return undefined;
    throw error;
  }
}

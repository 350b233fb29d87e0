/**
 * Warm-up of a diffusion model, before it serves any job: runs every graph once, measures the duration of a step at each
 * rung of the row ladder for as long as more rows increase the throughput, and fits the map that makes previews.
 */
import { type Clock, LehrError } from '@lehr/shared';
import { fitLatentRgb, type LatentRgb } from '../../diffusion/latent-rgb.ts';
import { probeRow } from '../../models/diffusion/check-unet.ts';
import type { DiffusionModel } from '../../models/diffusion/diffusion-folder.ts';
import { ROW_LADDER, type RowCap, worthWidening } from '../row-cap.ts';

/** The ladder stops after this time; the rest is measured while serving. */
const BUDGET_MS = 60_000;

export async function warmUp(
  model: DiffusionModel,
  picture: { readonly width: number; readonly height: number },
  cap: RowCap,
  clock: Clock,
): Promise<LatentRgb | undefined> {
  const { unet, vae, tokenizer } = model;
  const startedAt = clock.monotonic();
  const size = { width: picture.width / vae.scaleFactor, height: picture.height / vae.scaleFactor };
  const row = probeRow(unet, size, tokenizer.maxTokens, 1);
  // A graph with a fixed batch size has only one row count.
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
      // This many rows exceed the device's memory.
      cap.limit(rows / 2);
      break;
    }
  }
  try {
    return await fitLatentRgb(vae, picture, clock);
  } catch (error) {
    // A VAE that cannot decode synthetic latents may still decode real ones; missing previews must not refuse the model.
    if (error instanceof LehrError && error.code === 'numeric-error') return undefined;
    throw error;
  }
}

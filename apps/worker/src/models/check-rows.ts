/**
 * Proves on the loaded session that rows keep their own timesteps: two rows at different timesteps in one run against
 * each of them alone. A rewired graph is only used when this holds.
 */
import type { LatentSize, Unet, UnetRow } from '../diffusion/unet.ts';

/** Far apart, whole, and inside every noise schedule of 1000 timesteps. */
const TIMESTEPS = [901, 21];

export interface RowCheck {
  /** The largest difference between a row's result in company and alone. */
  readonly difference: number;
  /** The largest difference that the timestep alone makes: what mixing the two up would look like. */
  readonly effect: number;
}

/** Both rows have the same latent and prompt, so that nothing but the timestep tells them apart. */
export async function checkRows(unet: Unet, size: LatentSize, tokens: number): Promise<RowCheck> {
  const rows = TIMESTEPS.map((timestep) => probeRow(unet, size, tokens, timestep));
  const together = (await unet.predict(rows, size)).rows;
  const alone: Float32Array[] = [];
  for (const row of rows) alone.push((await unet.predict([row], size)).rows[0]);
  return {
    difference: Math.max(...rows.map((_, i) => largestDifference(together[i], alone[i]))),
    effect: largestDifference(alone[0], alone[1]),
  };
}

/** A row of made-up values. */
export const probeRow = (unet: Unet, size: LatentSize, tokens: number, timestep: number): UnetRow => ({
  latent: wave(unet.latentChannels * size.height * size.width),
  promptEmbedding: wave(tokens * unet.embeddingDim),
  timestep,
});

/** Values between -1 and 1 without a pattern that a convolution would smooth away. */
const wave = (length: number): Float32Array =>
  Float32Array.from({ length }, (_, i) => Math.sin(i * i * 0.7 + i));

/** Infinity where either holds a NaN, so that such a pair never passes for equal. */
function largestDifference(a: Float32Array, b: Float32Array): number {
  let largest = 0;
  for (let i = 0; i < a.length; i += 1) {
    const difference = Math.abs(a[i] - b[i]);
    if (!(difference <= largest)) largest = Number.isNaN(difference) ? Number.POSITIVE_INFINITY : difference;
  }
  return largest;
}

/**
 * Checks on the loaded session that each row keeps its own timestep: two rows at different timesteps run together and
 * then alone, and the results must agree. A rewired graph is used only when they do.
 */
import { largestDifference } from '../../runtime/tensor.ts';
import type { LatentSize, Unet, UnetRow } from '../unet.ts';

/** Far apart, whole numbers, and inside every noise schedule of 1000 timesteps. */
const TIMESTEPS = [901, 21];

export interface UnetCheck {
  /** The largest difference between a row's result in a batch and alone. */
  readonly difference: number;
  /** The largest difference that the timestep alone makes: how large `difference` would be if the graph mixed the rows up. */
  readonly effect: number;
}

/** Both rows have the same latent and prompt: they differ in nothing but the timestep. */
export async function checkUnet(unet: Unet, size: LatentSize, tokens: number): Promise<UnetCheck> {
  const rows = TIMESTEPS.map((timestep) => probeRow(unet, size, tokens, timestep));
  const together = await predictionsOf(unet, rows, size);
  const alone: Float32Array[] = [];
  for (const row of rows) alone.push(...(await predictionsOf(unet, [row], size)));
  return {
    difference: Math.max(...rows.map((_, i) => largestDifference(together[i], alone[i]))),
    effect: largestDifference(alone[0], alone[1]),
  };
}

/** Copies, which later runs leave alone. */
const predictionsOf = async (
  unet: Unet,
  rows: readonly UnetRow[],
  size: LatentSize,
): Promise<Float32Array[]> => (await unet.predict(rows, size)).rows.map((prediction) => prediction.slice());

/** A row of synthetic values. */
export const probeRow = (unet: Unet, size: LatentSize, tokens: number, timestep: number): UnetRow => ({
  latent: wave(unet.latentChannels * size.height * size.width),
  promptEmbedding: wave(tokens * unet.embeddingDim),
  conditions: Object.fromEntries([...unet.conditions].map(([name, length]) => [name, wave(length)])),
  timestep,
});

/** Values between -1 and 1, irregular enough that a convolution does not average them to nothing. */
const wave = (length: number): Float32Array =>
  Float32Array.from({ length }, (_, i) => Math.sin(i * i * 0.7 + i));

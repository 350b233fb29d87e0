/**
 * Classifier-free guidance (arXiv 2207.12598, in the form that diffusers uses): `negative + scale * (prompt - negative)`.
 * All arrays are as long as the latent. A scale of 1 gives the prompt's prediction.
 */
import { halfValues } from '../runtime/half.ts';

export function guideFloats(
  negative: Float32Array,
  prompt: Float32Array,
  scale: number,
  out: Float32Array,
): void {
  for (let i = 0; i < out.length; i++) out[i] = negative[i] + scale * (prompt[i] - negative[i]);
}

/** Converts in the same pass: predictions in half precision are then read once and never written as float32. */
export function guideHalves(
  negative: Uint16Array,
  prompt: Uint16Array,
  scale: number,
  out: Float32Array,
): void {
  const values = halfValues();
  for (let i = 0; i < out.length; i++) {
    const from = values[negative[i]];
    out[i] = from + scale * (values[prompt[i]] - from);
  }
}

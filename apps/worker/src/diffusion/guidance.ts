/**
 * Classifier-free guidance (arXiv 2207.12598, in the form that diffusers uses): `negative + scale * (prompt - negative)`.
 * The result replaces `prompt`. Both arrays are as long as the latent. A scale of 1 changes nothing.
 */
export function applyGuidance(negative: Float32Array, prompt: Float32Array, scale: number): void {
  for (let i = 0; i < prompt.length; i++) prompt[i] = negative[i] + scale * (prompt[i] - negative[i]);
}

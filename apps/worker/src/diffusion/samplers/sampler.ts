/**
 * A sampler turns noise predictions into ever cleaner latents. Each kind (ddim.ts, euler.ts, ...) makes one
 * SamplerRun per sample, so mixed samplers, step counts and seeds can share a batch: nothing is shared between runs.
 */

export { SAMPLER_NAMES, type SamplerName } from '@lehr/shared';

/** Draws `length` unit normals from the sample's own seeded stream. */
export type DrawNoise = (length: number) => Float32Array;

/** What a run needs to go on elsewhere: plain data, small enough to checkpoint (at most three latents). */
export interface SamplerState {
  /** Model calls already made. */
  readonly call: number;
  /** What a multistep sampler keeps of earlier calls, each as long as the latent; the order is the sampler's own. */
  readonly history: readonly Float32Array[];
}

export interface SamplerRun {
  /** The noise schedule's value for every model call, in order; PNDM makes one call more than steps. */
  readonly timesteps: readonly number[];
  /** The seed's unit noise is multiplied by this before the first call. */
  readonly initNoiseSigma: number;
  /** Model calls made so far; the run is over when it equals `timesteps.length`. */
  readonly call: number;
  /** Writes the model's input for the next call into `out` (Euler divides by sqrt(sigma^2 + 1); most copy). */
  scaleModelInput(latent: Float32Array, out: Float32Array): void;
  /** Replaces `latent` by the next one, given the guided model output of the call just made. */
  step(modelOutput: Float32Array, latent: Float32Array, drawNoise: DrawNoise): void;
  /** Image to image: replaces a clean `latent` by one as noisy as the first call expects; `noise` is unit noise. */
  addNoise(latent: Float32Array, noise: Float32Array): void;
  /** A copy: later steps leave it as it is. Stochastic runs also need their noise stream's state to go on. */
  state(): SamplerState;
  /** Goes on where `state()` was taken, in a run made with the same options. Throws LehrError `internal` otherwise. */
  restore(state: SamplerState): void;
}

/**
 * A sampler turns noise predictions into cleaner and cleaner latents. Each sample has its own SamplerRun and runs share
 * nothing, so samples with different samplers, step counts and seeds can be in one batch.
 */

import type { ModelOutput } from '../model-output.ts';

export { SAMPLER_NAMES, type SamplerName } from '@lehr/shared';

/** Draws `length` standard normal values from the sample's own seeded stream. */
export type DrawNoise = (length: number) => Float32Array;

/** What a run needs to continue in another process: plain data, at most three latents. */
export interface SamplerState {
  /** Model calls already made. */
  readonly call: number;
  /** What a multistep sampler keeps of earlier calls, each as long as the latent; each sampler has its own order. */
  readonly history: readonly Float32Array[];
}

export interface SamplerRun {
  /** The timestep of every model call, in order; PNDM makes one more call than steps. */
  readonly timesteps: readonly number[];
  /** The seed's unit noise is multiplied by this before the first call. */
  readonly initNoiseSigma: number;
  /** Model calls made so far; the run has ended when this equals `timesteps.length`. */
  readonly call: number;
  /** Whether the next step draws noise: as many values as the latent has. */
  readonly drawsNoise: boolean;
  /** Writes the model's input for the next call into `out`: Euler divides by sqrt(sigma^2 + 1), most samplers copy. */
  scaleModelInput(latent: Float32Array, out: Float32Array): void;
  /**
   * Makes a step: updates `latent` in place from the guided model output for it. Returns false when the output is not finite: the run
   * cannot continue then, except from an earlier state.
   */
  step(output: ModelOutput | Float32Array, latent: Float32Array, drawNoise: DrawNoise): boolean;
  /** Image to image: adds unit `noise` to a clean `latent`, in place, up to the level of the first call. */
  addNoise(latent: Float32Array, noise: Float32Array): void;
  /** A copy of the state. Stochastic runs also need the state of their noise stream to continue. */
  state(): SamplerState;
  /** Continues from a `state()` of a run with the same options. Throws LehrError `internal` for any other state. */
  restore(state: SamplerState): void;
}

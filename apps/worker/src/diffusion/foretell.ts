import { levelOfSigma, noiseSchedule } from './noise-schedule.ts';
import { cleanMix } from './samplers/prediction.ts';
import type { SchedulerConfig } from './scheduler-config.ts';
import { sigmaAt } from './timesteps.ts';

/**
 * The clean latent that a model's output foretells: what the picture would be if every later step agreed with this one. From
 * the very first steps on it shows more than the running latent, which is mostly noise then. `input` is what the model
 * saw, so samplers with latents of another scale need no case of their own.
 */
export function foretellClean(
  config: SchedulerConfig,
  timestep: number,
  input: Float32Array,
  output: Float32Array,
): Float32Array {
  const level = levelOfSigma(sigmaAt(noiseSchedule(config), timestep));
  const mix = cleanMix(config.predictionType, level);
  return input.map((value, i) => mix.latent * value + mix.output * output[i]);
}

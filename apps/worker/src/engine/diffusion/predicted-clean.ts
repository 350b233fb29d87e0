import { ModelOutput } from './model-output.ts';
import { levelOfSigma, noiseSchedule } from './noise-schedule.ts';
import { cleanMix } from './samplers/prediction.ts';
import type { SchedulerConfig } from './scheduler-config.ts';
import { sigmaAt } from './timesteps.ts';

/**
 * The clean latent that a model output predicts: the result if every later step agreed with this one. It shows the picture
 * from the first steps on, while the running latent is still mostly noise. `input` is the model's input, so samplers with
 * latents of another scale need no special case.
 */
export function predictedClean(
  config: SchedulerConfig,
  timestep: number,
  input: Float32Array,
  output: ModelOutput | Float32Array,
): Float32Array {
  const level = levelOfSigma(sigmaAt(noiseSchedule(config), timestep));
  const mix = cleanMix(config.predictionType, level);
  return ModelOutput.from(output).mixed(mix, input).slice();
}

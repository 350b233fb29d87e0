import { cleanMix, refusePureNoise } from '../model-output.ts';
import { lcmTimesteps, levelAt, levelOfAlphaCumprod } from '../noise-schedule.ts';
import { latentLevel, type SamplerKind } from './sampler.ts';

/** Standard deviation of the data in the boundary condition, as in the distillation. */
const SIGMA_DATA = 0.5;

/**
 * Latent consistency models, arXiv 2310.04378: each step predicts a clean latent and adds noise up to the next timestep.
 * Draws noise on every step but the last. Spacing has no effect: the timesteps are those of the distillation.
 */
export const lcm: SamplerKind = {
  defaultSpacing: 'leading',

  refusal(config) {
    if (config.originalInferenceSteps > config.trainTimesteps) {
      return 'original_inference_steps exceeds num_train_timesteps';
    }
    return refusePureNoise(config);
  },

  plan({ config, steps, strength }) {
    const timesteps = lcmTimesteps(steps, config.trainTimesteps, config.originalInferenceSteps, strength);
    return { timesteps, sigmas: [], initNoiseSigma: 1, firstCall: 0 };
  },

  rule({ config, schedule }, { timesteps }) {
    return {
      level: (call) => latentLevel(levelAt(schedule, timesteps[call])),
      historyLength: 0,
      drawsNoise: (call) => call < timesteps.length - 1,

      update(call, output, latent, _history, drawNoise) {
        const clean = cleanMix(config.predictionType, levelAt(schedule, timesteps[call]));
        const { skip, out } = boundary(timesteps[call] * config.timestepScaling);
        const isLast = call === timesteps.length - 1;
        const next = isLast ? levelOfAlphaCumprod(1) : levelAt(schedule, timesteps[call + 1]);
        const mix = {
          latent: next.alpha * (out * clean.latent + skip),
          output: next.alpha * out * clean.output,
        };
        const drawn = isLast ? undefined : { weight: next.sigma, values: drawNoise(latent.length) };
        output.mixInto(latent, mix, drawn);
      },
    };
  },
};

/** The boundary condition of consistency models (arXiv 2303.01469): at timestep 0 the latent is unchanged. */
function boundary(scaledTimestep: number): { skip: number; out: number } {
  const sum = scaledTimestep ** 2 + SIGMA_DATA ** 2;
  return { skip: SIGMA_DATA ** 2 / sum, out: scaledTimestep / Math.sqrt(sum) };
}

import { noiseMix } from '../model-output.ts';
import { levelAt, type NoiseLevel, wholeTimesteps } from '../noise-schedule.ts';
import { levelBelow, stride } from './ddim.ts';
import { firstCall, latentLevel, type SamplerKind, spacingOptions } from './sampler.ts';

/**
 * Weights of this call's output and of the earlier ones, newest first: Adams-Bashforth of increasing order. The second call
 * is different: it repeats the first step with the mean of the outputs at both ends of the step.
 */
const WEIGHTS = [
  [1, 0, 0, 0],
  [1 / 2, 1 / 2, 0, 0],
  [3 / 2, -1 / 2, 0, 0],
  [23 / 12, -16 / 12, 5 / 12, 0],
  [55 / 24, -59 / 24, 37 / 24, -9 / 24],
];

const OUTPUT_ALONE = { latent: 0, output: 1 };

/**
 * PNDM, arXiv 2202.09778 eq. 9 and 12, without its Runge-Kutta start (PLMS, as Stable Diffusion uses it). Makes one more
 * model call than steps, except for a single step. Draws no noise.
 */
export const pndm: SamplerKind = {
  defaultSpacing: 'leading',

  refusal(config) {
    if (config.skipPrkSteps === false) return 'skip_prk_steps is false, and Lehr has no Runge-Kutta steps';
    // diffusers would sample on the schedule before rescaling, which is not the model's.
    return config.rescaleBetasZeroSnr ? 'it has no form for a zero-terminal-SNR schedule' : undefined;
  },

  plan(setup) {
    const once = wholeTimesteps(spacingOptions(setup));
    const timesteps = [...once.slice(0, 2), ...once.slice(1)];
    return { timesteps, sigmas: [], initNoiseSigma: 1, firstCall: firstCall(setup) };
  },

  rule(setup, { timesteps }) {
    const { config, schedule } = setup;
    return {
      level: (call) => latentLevel(levelAt(schedule, timesteps[call])),
      historyLength: 3,

      update(call, output, latent, [third, second, last]) {
        const repeats = call === 1;
        const timestep = timesteps[call] + (repeats ? stride(setup) : 0);
        const here = levelAt(schedule, timestep);
        const next = levelBelow(schedule, timestep - stride(setup), config.setAlphaToOne ?? false);
        const { fromLatent, fromNoise } = transfer(here, next);
        const noise = noiseMix(config.predictionType, here);
        const latentWeight = fromLatent + fromNoise * noise.latent;
        const outputWeight = fromNoise * noise.output;
        const [w0, w1, w2, w3] = WEIGHTS[Math.min(call, WEIGHTS.length - 1)];
        const outputs = output.mixed(OUTPUT_ALONE, latent);
        for (let i = 0; i < latent.length; i++) {
          // The oldest entry of the history is unused so early, so it carries the first latent to the second call.
          const from = repeats ? third[i] : latent[i];
          const mean = w0 * outputs[i] + w1 * last[i] + w2 * second[i] + w3 * third[i];
          latent[i] = latentWeight * from + outputWeight * mean;
          if (repeats) continue;
          third[i] = call === 0 ? from : second[i];
          second[i] = last[i];
          last[i] = outputs[i];
        }
      },
    };
  },
};

/** arXiv 2202.09778 eq. 9: weights of the latent and of its noise in a step to the next level. */
function transfer(here: NoiseLevel, next: NoiseLevel): { fromLatent: number; fromNoise: number } {
  const difference = next.alpha ** 2 - here.alpha ** 2;
  const divisor = here.alpha ** 2 * next.sigma + here.alpha * here.sigma * next.alpha;
  return { fromLatent: next.alpha / here.alpha, fromNoise: -difference / divisor };
}

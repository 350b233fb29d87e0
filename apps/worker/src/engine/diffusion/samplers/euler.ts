/** Euler and ancestral Euler. */

import { type Mix, noiseMix } from '../model-output.ts';
import { fractionalTimesteps, karrasSigmas, levelOfSigma, sigmaAt, timestepOf } from '../noise-schedule.ts';
import type { PredictionType, Spacing } from '../scheduler-config.ts';
import {
  firstCall,
  type SamplerKind,
  type SamplerPlan,
  type SamplerRule,
  type SamplerSetup,
  spacingOptions,
} from './sampler.ts';

/**
 * Euler, arXiv 2206.00364 algorithm 1 without its second-order correction: a straight line from each sigma to the next.
 * Draws no noise.
 */
export const euler: SamplerKind = {
  defaultSpacing: 'linspace',

  plan(setup) {
    const plan = eulerPlan(setup);
    return setup.config.useKarrasSigmas ? withKarras(plan, setup) : plan;
  },

  rule({ config }, { sigmas }) {
    return {
      ...eulerLatent(sigmas),
      update(call, output, latent) {
        const slope = slopeMix(config.predictionType, sigmas[call]);
        const length = sigmas[call + 1] - sigmas[call];
        output.mixInto(latent, { latent: 1 + length * slope.latent, output: length * slope.output });
      },
    };
  },
};

/** Timesteps may be fractional; their sigmas are interpolated from the schedule. */
function eulerPlan(setup: SamplerSetup): SamplerPlan {
  const timesteps = fractionalTimesteps(spacingOptions(setup));
  const sigmas = [...timesteps.map((timestep) => sigmaAt(setup.schedule, timestep)), 0];
  const initNoiseSigma = startingSigma(setup.spacing, sigmas[0]);
  return { timesteps, sigmas, initNoiseSigma, firstCall: firstCall(setup) };
}

/** Euler's latents are `picture + sigma * noise`; the model gets them scaled to unit variance. */
function eulerLatent(sigmas: readonly number[]): Omit<SamplerRule, 'update'> {
  return {
    level: (call) => ({ picture: 1, noise: sigmas[call] }),
    historyLength: 0,
    inputScale: (call) => levelOfSigma(sigmas[call]).alpha,
  };
}

/** The change of such a latent per unit of sigma: the noise that it contains. */
function slopeMix(type: PredictionType, sigma: number): Mix {
  const level = levelOfSigma(sigma);
  const mix = noiseMix(type, level);
  return { latent: mix.latent * level.alpha, output: mix.output };
}

/** Leading spacing does not begin at pure noise, so its first latent also has the variance of a picture. */
function startingSigma(spacing: Spacing, largest: number): number {
  return spacing === 'leading' ? Math.sqrt(largest ** 2 + 1) : largest;
}

/** Karras sigmas between the first and last sigma of the run's spacing, with their fractional timesteps. */
function withKarras(plan: SamplerPlan, { schedule, steps }: SamplerSetup): SamplerPlan {
  const sigmas = karrasSigmas(plan.sigmas[0], plan.sigmas[steps - 1], steps);
  return { ...plan, timesteps: sigmas.map((sigma) => timestepOf(schedule, sigma)), sigmas: [...sigmas, 0] };
}

/**
 * Ancestral Euler, as in k-diffusion: an Euler step to a sigma below the next one, then new noise up to the next one. Draws
 * noise on every step, also on the last, with weight 0. As in diffusers it has no Karras sigmas.
 */
export const eulerAncestral: SamplerKind = {
  defaultSpacing: 'linspace',
  plan: eulerPlan,

  rule({ config }, { sigmas }) {
    return {
      ...eulerLatent(sigmas),
      drawsNoise: () => true,

      update(call, output, latent, _history, drawNoise) {
        const slope = slopeMix(config.predictionType, sigmas[call]);
        const { down, up } = split(sigmas[call], sigmas[call + 1]);
        const length = down - sigmas[call];
        const mix = { latent: 1 + length * slope.latent, output: length * slope.output };
        output.mixInto(latent, mix, { weight: up, values: drawNoise(latent.length) });
      },
    };
  },
};

/** Splits the next sigma into `sqrt(down^2 + up^2)`: Euler steps to `down`, new noise adds `up` (arXiv 2006.11239 eq. 7). */
function split(sigma: number, next: number): { down: number; up: number } {
  const up = (next * Math.sqrt(sigma ** 2 - next ** 2)) / sigma;
  return { down: Math.sqrt(next ** 2 - up ** 2), up };
}

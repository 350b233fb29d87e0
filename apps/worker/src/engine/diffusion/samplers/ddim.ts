import { cleanMix, noiseMix, refusePureNoise } from '../model-output.ts';
import {
  levelAt,
  levelOfAlphaCumprod,
  type NoiseLevel,
  type NoiseSchedule,
  wholeTimesteps,
} from '../noise-schedule.ts';
import { firstCall, latentLevel, type SamplerKind, type SamplerSetup, spacingOptions } from './sampler.ts';

/** DDIM, arXiv 2010.02502 eq. 12 and 16. Draws noise on every step if `eta` > 0. */
export const ddim: SamplerKind = {
  defaultSpacing: 'leading',
  refusal: refusePureNoise,

  plan(setup) {
    const timesteps = wholeTimesteps(spacingOptions(setup));
    return { timesteps, sigmas: [], initNoiseSigma: 1, firstCall: firstCall(setup) };
  },

  rule(setup, { timesteps }) {
    const { config, schedule, eta } = setup;
    return {
      level: (call) => latentLevel(levelAt(schedule, timesteps[call])),
      historyLength: 0,
      drawsNoise: () => eta > 0,

      update(call, output, latent, _history, drawNoise) {
        const here = levelAt(schedule, timesteps[call]);
        const next = levelBelow(schedule, timesteps[call] - stride(setup), config.setAlphaToOne ?? true);
        const fresh = eta * freshNoise(here, next);
        const clean = cleanMix(config.predictionType, here);
        const noise = noiseMix(config.predictionType, here);
        const kept = Math.sqrt(Math.max(next.sigma ** 2 - fresh ** 2, 0));
        const mix = {
          latent: next.alpha * clean.latent + kept * noise.latent,
          output: next.alpha * clean.output + kept * noise.output,
        };
        const drawn = eta > 0 ? { weight: fresh, values: drawNoise(latent.length) } : undefined;
        output.mixInto(latent, mix, drawn);
      },
    };
  },
};

/** Timesteps per step. As in diffusers, a step ends this far below its timestep, not at the next timestep of the run. */
export function stride({ config, steps }: SamplerSetup): number {
  return Math.floor(config.trainTimesteps / steps);
}

/** The level at which a step ends; below timestep 0 it is a clean latent, or timestep 0 again. */
export function levelBelow(schedule: NoiseSchedule, timestep: number, alphaToOne: boolean): NoiseLevel {
  if (timestep >= 0) return levelAt(schedule, timestep);
  return alphaToOne ? levelOfAlphaCumprod(1) : levelAt(schedule, 0);
}

/** arXiv 2010.02502 eq. 16 with eta 1: the part of the next level's noise that is newly drawn. */
function freshNoise(here: NoiseLevel, next: NoiseLevel): number {
  return (next.sigma / here.sigma) * Math.sqrt(Math.max(1 - (here.alpha / next.alpha) ** 2, 0));
}

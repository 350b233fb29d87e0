import { eulerLatent, eulerPlan, slopeMix } from './euler.ts';
import type { SamplerKind } from './sampler-kind.ts';

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

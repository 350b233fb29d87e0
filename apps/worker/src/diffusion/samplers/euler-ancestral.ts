import { eulerLatent, eulerPlan, slopeMix } from './euler.ts';
import type { SamplerKind } from './sampler-kind.ts';

/**
 * Ancestral Euler, as in k-diffusion: an Euler step to a sigma below the next, then fresh noise up to it. Draws noise
 * on every step, also on the last, where it comes times 0. Knows no Karras sigmas, as in diffusers.
 */
export const eulerAncestral: SamplerKind = {
  defaultSpacing: 'linspace',
  plan: eulerPlan,

  rule({ config }, { sigmas }) {
    return {
      ...eulerLatent(sigmas),
      update(call, modelOutput, latent, _history, drawNoise) {
        const slope = slopeMix(config.predictionType, sigmas[call]);
        const { down, up } = split(sigmas[call], sigmas[call + 1]);
        const length = down - sigmas[call];
        const fromLatent = 1 + length * slope.latent;
        const fromOutput = length * slope.output;
        const drawn = drawNoise(latent.length);
        for (let i = 0; i < latent.length; i++) {
          latent[i] = fromLatent * latent[i] + fromOutput * modelOutput[i] + up * drawn[i];
        }
      },
    };
  },
};

/** The next sigma as `sqrt(down^2 + up^2)`: where Euler goes to and what is drawn anew (arXiv 2006.11239 eq. 7). */
function split(sigma: number, next: number): { down: number; up: number } {
  const up = (next * Math.sqrt(sigma ** 2 - next ** 2)) / sigma;
  return { down: Math.sqrt(next ** 2 - up ** 2), up };
}

import { cleanMix } from '../model-output.ts';
import { levelOfSigma } from '../noise-schedule.ts';
import { logSnr, multistepPlan } from './dpmpp-2m.ts';
import { latentLevel, type SamplerKind } from './sampler.ts';

/**
 * UniPC of order 2, arXiv 2302.04867 algorithms 1 and 2, with B(h) = e^h - 1 ("bh2"), on predicted clean latents. Each call
 * first corrects its latent, for which the model output is known now, and then predicts the next one. Draws no noise.
 */
export const unipc: SamplerKind = {
  defaultSpacing: 'linspace',
  plan: (setup) => multistepPlan(setup, setup.config.useKarrasSigmas),

  rule({ config }, { sigmas }) {
    const order = (call: number) => Math.min(2, call + 1, sigmas.length - 1 - call);
    return {
      level: (call) => latentLevel(levelOfSigma(sigmas[call])),
      historyLength: 3,

      // History: the predicted clean latents of the call before last and of the last call, and its corrected latent.
      update(call, output, latent, [olderClean, lastClean, lastLatent]) {
        const cleans = output.mixed(cleanMix(config.predictionType, levelOfSigma(sigmas[call])), latent);
        const corrected = call === 0 ? UNCORRECTED : corrector(sigmas, call, order(call - 1));
        const next = predictor(sigmas, call, order(call));
        for (let i = 0; i < latent.length; i++) {
          const clean = cleans[i];
          const here =
            corrected.latent * latent[i] +
            corrected.lastLatent * lastLatent[i] +
            corrected.olderClean * olderClean[i] +
            corrected.lastClean * lastClean[i] +
            corrected.clean * clean;
          latent[i] = next.latent * here + next.clean * clean + next.lastClean * lastClean[i];
          olderClean[i] = lastClean[i];
          lastClean[i] = clean;
          lastLatent[i] = here;
        }
      },
    };
  },
};

const UNCORRECTED = { latent: 1, lastLatent: 0, olderClean: 0, lastClean: 0, clean: 0 };

/** UniC: repeats the last step with the model output at its end. `order` is that of the repeated step. */
function corrector(sigmas: readonly number[], call: number, order: number): typeof UNCORRECTED {
  const { scale, gain, h } = interval(sigmas, call - 1);
  const { older, newest } = order === 1 ? { older: 0, newest: 1 / 2 } : weightsOfOrder2(sigmas, call, h);
  return {
    latent: 0,
    lastLatent: scale,
    olderClean: gain * older,
    lastClean: gain * (1 - older - newest),
    clean: gain * newest,
  };
}

/** UniP: the step to the next sigma. */
function predictor(sigmas: readonly number[], call: number, order: number) {
  const { scale, gain, h } = interval(sigmas, call);
  const older = order === 1 ? 0 : 1 / (2 * distance(sigmas, call, call - 1, h));
  return { latent: scale, clean: gain * (1 - older), lastClean: gain * older };
}

/** One step of the exponential integrator: `scale * latent + gain * clean`, plus differences of clean latents. */
function interval(sigmas: readonly number[], call: number): { scale: number; gain: number; h: number } {
  const here = levelOfSigma(sigmas[call]);
  const next = levelOfSigma(sigmas[call + 1]);
  const h = logSnr(sigmas[call + 1]) - logSnr(sigmas[call]);
  return { scale: next.sigma / here.sigma, gain: -next.alpha * Math.expm1(-h), h };
}

/** Distance in log SNR from one call to another, in units of the step `h`. */
function distance(sigmas: readonly number[], from: number, to: number, h: number): number {
  return (logSnr(sigmas[to]) - logSnr(sigmas[from])) / h;
}

/** Weights that make the correction second order: the solution of the paper's R(h) a = phi(h) for two points. */
function weightsOfOrder2(sigmas: readonly number[], call: number, h: number) {
  const r = distance(sigmas, call - 1, call - 2, h);
  const phi1 = Math.expm1(-h);
  const phi2 = -phi1 / h - 1;
  const phi3 = -phi2 / h - 1 / 2;
  const b1 = phi2 / phi1;
  const b2 = (2 * phi3) / phi1;
  const rho = (b1 - b2) / (1 - r);
  return { older: rho / r, newest: b1 - rho };
}

import { cleanMix } from '../model-output.ts';
import {
  karrasSigmas,
  levelOfSigma,
  multistepTimesteps,
  roundHalfToEven,
  sigmaAt,
  timestepOf,
} from '../noise-schedule.ts';
import {
  firstCall,
  latentLevel,
  type SamplerKind,
  type SamplerPlan,
  type SamplerSetup,
  spacingOptions,
} from './sampler.ts';

/** DPM-Solver++(2M), arXiv 2211.01095 algorithm 2, midpoint form. Draws no noise. */
export const dpmpp2m = dpmpp({ karras: false, stochastic: false });
export const dpmpp2mKarras = dpmpp({ karras: true, stochastic: false });
/** SDE-DPM-Solver++(2M), the stochastic form of the same paper. Draws noise on every step, also on the last, with weight 0. */
export const dpmpp2mSdeKarras = dpmpp({ karras: true, stochastic: true });

interface Variant {
  readonly karras: boolean;
  readonly stochastic: boolean;
}

/** Weights of the latent, of the clean latents predicted by this and the last call, and of new noise. */
interface StepWeights {
  readonly latent: number;
  readonly clean: number;
  readonly lastClean: number;
  readonly noise: number;
}

function dpmpp({ karras, stochastic }: Variant): SamplerKind {
  return {
    defaultSpacing: 'linspace',
    plan: (setup) => multistepPlan(setup, karras),

    rule({ config }, { sigmas }) {
      return {
        level: (call) => latentLevel(levelOfSigma(sigmas[call])),
        historyLength: 1,
        drawsNoise: () => stochastic,

        update(call, output, latent, [lastClean], drawNoise) {
          const clean = output.mixed(cleanMix(config.predictionType, levelOfSigma(sigmas[call])), latent);
          const weights = stepWeights(sigmas, call, stochastic);
          // Outside of the loop, where V8 would read the properties anew for every value.
          const { latent: fromLatent, clean: fromClean, lastClean: fromLast, noise: fromNoise } = weights;
          const drawn = stochastic ? drawNoise(latent.length) : undefined;
          for (let i = 0; i < latent.length; i++) {
            const next = fromLatent * latent[i] + fromClean * clean[i] + fromLast * lastClean[i];
            if (drawn) latent[i] = next + fromNoise * drawn[i];
            else latent[i] = next;
            lastClean[i] = clean[i];
          }
        },
      };
    },
  };
}

/**
 * Shared with unipc. Karras sigmas span the whole training schedule, whatever the spacing. Their timesteps are rounded and
 * can be equal near the clean end, so a run counts its calls and never searches for a timestep.
 */
export function multistepPlan(setup: SamplerSetup, karras: boolean): SamplerPlan {
  const { schedule, steps } = setup;
  const rest = { initNoiseSigma: 1, firstCall: firstCall(setup) };
  if (karras) {
    const sigmas = karrasSigmas(schedule.sigmas[schedule.sigmas.length - 1], schedule.sigmas[0], steps);
    const timesteps = sigmas.map((sigma) => roundHalfToEven(timestepOf(schedule, sigma)));
    return { timesteps, sigmas: [...sigmas, 0], ...rest };
  }
  const timesteps = multistepTimesteps(spacingOptions(setup));
  return { timesteps, sigmas: [...timesteps.map((timestep) => sigmaAt(schedule, timestep)), 0], ...rest };
}

/** Half the log of the signal-to-noise ratio, the solvers' time. Infinite for a clean latent. */
export function logSnr(sigma: number): number {
  return -Math.log(sigma);
}

/** First order on the first call, which has no call before it, and on the step to sigma 0, whose log SNR is infinite. */
function stepWeights(sigmas: readonly number[], call: number, stochastic: boolean): StepWeights {
  const here = levelOfSigma(sigmas[call]);
  const next = levelOfSigma(sigmas[call + 1]);
  const h = logSnr(sigmas[call + 1]) - logSnr(sigmas[call]);
  const decay = Math.exp(-h);
  const left = stochastic ? decay : 1;
  const gain = next.alpha * (1 - (stochastic ? decay ** 2 : decay));
  const firstOrder = call === 0 || sigmas[call + 1] === 0;
  const lastH = firstOrder ? 0 : logSnr(sigmas[call]) - logSnr(sigmas[call - 1]);
  const slope = firstOrder ? 0 : (gain * h) / (2 * lastH);
  return {
    latent: (next.sigma / here.sigma) * left,
    clean: gain + slope,
    lastClean: -slope,
    noise: next.sigma * Math.sqrt(1 - decay ** 2),
  };
}

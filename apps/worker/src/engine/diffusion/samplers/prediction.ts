import type { NoiseLevel } from '../noise-schedule.ts';
import type { PredictionType, SchedulerConfig } from '../scheduler-config.ts';

/** Weights of a sum: `mix.latent * latent + mix.output * model output`. */
export interface Mix {
  readonly latent: number;
  readonly output: number;
}

/**
 * The clean latent that a model output predicts, for a latent `alpha * clean + sigma * noise`. A velocity is
 * `alpha * noise - sigma * clean` (arXiv 2202.00512).
 */
export function cleanMix(type: PredictionType, { alpha, sigma }: NoiseLevel): Mix {
  return type === 'epsilon'
    ? { latent: 1 / alpha, output: -sigma / alpha }
    : { latent: alpha, output: -sigma };
}

/** The noise that a model output predicts, for the same latent. */
export function noiseMix(type: PredictionType, { alpha, sigma }: NoiseLevel): Mix {
  return type === 'epsilon' ? { latent: 0, output: 1 } : { latent: sigma, output: alpha };
}

/**
 * Why ddim and lcm cannot run on a config; undefined when they can. From pure noise, the predicted noise does not determine
 * the picture, and cleanMix would divide by 0.
 */
export function refusePureNoise(config: SchedulerConfig): string | undefined {
  const undefinedThere = config.rescaleBetasZeroSnr && config.predictionType === 'epsilon';
  return undefinedThere ? 'a zero-terminal-SNR schedule needs prediction_type v_prediction' : undefined;
}

import type { NoiseLevel } from '../noise-schedule.ts';
import type { PredictionType, SchedulerConfig } from '../scheduler-config.ts';

/** `latent * latent weight + model output * output weight`. */
export interface Mix {
  readonly latent: number;
  readonly output: number;
}

/**
 * The clean latent that a model output foretells, for a latent `alpha * clean + sigma * noise`. A velocity is
 * `alpha * noise - sigma * clean` (arXiv 2202.00512).
 */
export function cleanMix(type: PredictionType, { alpha, sigma }: NoiseLevel): Mix {
  return type === 'epsilon'
    ? { latent: 1 / alpha, output: -sigma / alpha }
    : { latent: alpha, output: -sigma };
}

/** The noise that a model output foretells, for the same latent. */
export function noiseMix(type: PredictionType, { alpha, sigma }: NoiseLevel): Mix {
  return type === 'epsilon' ? { latent: 0, output: 1 } : { latent: sigma, output: alpha };
}

/**
 * Why ddim and lcm cannot run on a config, if so: where no picture is left in the latent, knowing its noise tells
 * nothing about the picture, and cleanMix would divide by 0.
 */
export function noiseInPureNoise(config: SchedulerConfig): string | undefined {
  const undefinedThere = config.rescaleBetasZeroSnr && config.predictionType === 'epsilon';
  return undefinedThere ? 'a zero-terminal-SNR schedule needs prediction_type v_prediction' : undefined;
}

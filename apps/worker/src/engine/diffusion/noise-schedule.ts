/**
 * The noise schedule a model was trained on: how much picture and how much noise the latent holds at each timestep.
 * Betas (arXiv 2006.11239) to cumulative alphas to sigmas. Betas, alphas and cumulative alphas are rounded to float32, as
 * in diffusers: the smallest sigmas, and the timesteps nearest to Karras sigmas, depend on these digits.
 */
import type { SchedulerConfig } from './scheduler-config.ts';

/** All arrays have one value per training timestep, from 0 (nearly clean) to the last (nearly noise). */
export interface NoiseSchedule {
  /** The remaining share of the picture's variance: the product of `1 - beta` up to the timestep. 0 is pure noise. */
  readonly alphasCumprod: Float64Array;
  /** Noise relative to the picture: `sqrt((1 - a) / a)` for each `a` of `alphasCumprod`. Finite and increasing. */
  readonly sigmas: Float64Array;
}

/** Latent = `alpha * picture + sigma * noise`, with `alpha^2 + sigma^2 = 1`. */
export interface NoiseLevel {
  readonly alpha: number;
  readonly sigma: number;
}

/** Replaces the 0 at the end of a zero-terminal-SNR schedule, where sigma would be infinite; as in diffusers. */
const SMALLEST_ALPHA_CUMPROD = 2 ** -24;

/** Largest beta of the cosine schedule. */
const COSINE_MAX_BETA = 0.999;

/** All samples of a model share one config object, so each schedule is computed once. */
const schedules = new WeakMap<SchedulerConfig, NoiseSchedule>();

export function noiseSchedule(config: SchedulerConfig): NoiseSchedule {
  const schedule = schedules.get(config) ?? newSchedule(config);
  schedules.set(config, schedule);
  return schedule;
}

function newSchedule(config: SchedulerConfig): NoiseSchedule {
  const exact = cumulativeAlphas(betas(config));
  if (config.rescaleBetasZeroSnr) rescaleToZeroSnr(exact);
  const alphasCumprod = exact.map(Math.fround);
  const sigmas = alphasCumprod.map((alpha) => {
    const finite = config.rescaleBetasZeroSnr ? Math.max(alpha, SMALLEST_ALPHA_CUMPROD) : alpha;
    return Math.sqrt((1 - finite) / finite);
  });
  return { alphasCumprod, sigmas };
}

/** Variance added at each training timestep, before rounding and rescaling. */
export function betas(config: SchedulerConfig): Float64Array {
  const { betaStart, betaEnd, trainTimesteps, trainedBetas } = config;
  if (trainedBetas) return Float64Array.from(trainedBetas);
  const ramp = (from: number, to: number, i: number) => from + (i * (to - from)) / (trainTimesteps - 1);
  const betaAt = {
    linear: (i: number) => ramp(betaStart, betaEnd, i),
    // Linear in the square roots, as in Stable Diffusion.
    scaled_linear: (i: number) => ramp(Math.sqrt(betaStart), Math.sqrt(betaEnd), i) ** 2,
    squaredcos_cap_v2: (i: number) => cosineBeta(i / trainTimesteps, (i + 1) / trainTimesteps),
  }[config.betaSchedule];
  return Float64Array.from({ length: trainTimesteps }, (_, i) => betaAt(i));
}

/** The level at a timestep that is in the schedule. */
export function levelAt(schedule: NoiseSchedule, timestep: number): NoiseLevel {
  return levelOfAlphaCumprod(schedule.alphasCumprod[timestep]);
}

export function levelOfAlphaCumprod(alphaCumprod: number): NoiseLevel {
  return { alpha: Math.sqrt(alphaCumprod), sigma: Math.sqrt(1 - alphaCumprod) };
}

/** From a sigma as in `NoiseSchedule.sigmas`; 0 is a clean latent. */
export function levelOfSigma(sigma: number): NoiseLevel {
  const alpha = 1 / Math.sqrt(sigma * sigma + 1);
  return { alpha, sigma: sigma * alpha };
}

/** Like torch, accumulates in float64. */
function cumulativeAlphas(betaValues: Float64Array): Float64Array {
  let product = 1;
  return betaValues.map((beta) => {
    product *= Math.fround(1 - Math.fround(beta));
    return product;
  });
}

/** arXiv 2305.08891, algorithm 1: shifts the square roots so that the last is 0, and scales them to keep the first. */
function rescaleToZeroSnr(alphasCumprod: Float64Array): void {
  const first = Math.sqrt(alphasCumprod[0]);
  const last = Math.sqrt(alphasCumprod[alphasCumprod.length - 1]);
  for (let i = 0; i < alphasCumprod.length; i++) {
    alphasCumprod[i] = (((Math.sqrt(alphasCumprod[i]) - last) * first) / (first - last)) ** 2;
  }
}

/** arXiv 2102.09672 eq. 17, for the part of the schedule between two fractions of its length. */
function cosineBeta(from: number, to: number): number {
  const alphaBar = (t: number) => Math.cos((((t + 0.008) / 1.008) * Math.PI) / 2) ** 2;
  return Math.min(1 - alphaBar(to) / alphaBar(from), COSINE_MAX_BETA);
}

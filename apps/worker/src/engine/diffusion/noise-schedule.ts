/**
 * The noise schedule a model was trained on: how much picture and how much noise the latent holds at each timestep;
 * and the timesteps of it that a run visits.
 * Betas (arXiv 2006.11239) to cumulative alphas to sigmas. Betas, alphas and cumulative alphas are rounded to float32, as
 * in diffusers: the smallest sigmas, and the timesteps nearest to Karras sigmas, depend on these digits.
 */
import type { SchedulerConfig, Spacing } from './scheduler-config.ts';

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

export interface SpacingOptions {
  readonly spacing: Spacing;
  readonly steps: number;
  /** Length of the training schedule, whose timesteps are 0 to `trainTimesteps - 1`. */
  readonly trainTimesteps: number;
  /** Added in leading spacing only. */
  readonly stepsOffset: number;
}

/** Steepness of the sigma curve in arXiv 2206.00364, eq. 5. */
const KARRAS_RHO = 7;

/**
 * The timesteps of the training schedule that a run visits (arXiv 2305.08891, table 2), and Karras sigmas. The values equal
 * those of diffusers for every step count: halves round to even and operations run in numpy's order, because a timestep
 * that is one off gives another picture. Every list decreases, from noise to clean.
 *
 * For ddim and pndm.
 */
export function wholeTimesteps(options: SpacingOptions): number[] {
  const { spacing, steps, trainTimesteps } = options;
  if (spacing !== 'linspace') return evenTimesteps(options, steps);
  return linspace(trainTimesteps - 1, steps)
    .map(roundHalfToEven)
    .reverse();
}

/** For euler and euler_a: linspace keeps the fractions, in float32. */
export function fractionalTimesteps(options: SpacingOptions): number[] {
  const { spacing, steps, trainTimesteps } = options;
  if (spacing !== 'linspace') return evenTimesteps(options, steps);
  return linspace(trainTimesteps - 1, steps)
    .map(Math.fround)
    .reverse();
}

/** For the dpmpp samplers and unipc: linspace and leading divide the schedule for one step more and drop the last one. */
export function multistepTimesteps(options: SpacingOptions): number[] {
  const { spacing, steps, trainTimesteps } = options;
  if (spacing === 'trailing') return evenTimesteps(options, steps);
  if (spacing === 'leading') return evenTimesteps(options, steps + 1).slice(0, -1);
  const points = linspace(trainTimesteps - 1, steps + 1);
  return points.map(roundHalfToEven).reverse().slice(0, -1);
}

/**
 * LCM (arXiv 2310.04378) works only at the timesteps it was distilled on: a grid of `originalSteps`, of which an
 * image-to-image run uses the lower `strength`. The result is shorter than `steps` when the grid has too few.
 */
export function lcmTimesteps(
  steps: number,
  trainTimesteps: number,
  originalSteps: number,
  strength: number,
): number[] {
  const stride = Math.floor(trainTimesteps / originalSteps);
  const gridLength = Math.max(1, Math.trunc(originalSteps * strength));
  const count = Math.min(steps, gridLength);
  const share = gridLength / count;
  return Array.from({ length: count }, (_, i) => (gridLength - Math.floor(i * share)) * stride - 1);
}

/** `steps` sigmas from `largest` to `smallest` (arXiv 2206.00364, eq. 5). */
export function karrasSigmas(largest: number, smallest: number, steps: number): number[] {
  const from = largest ** (1 / KARRAS_RHO);
  const to = smallest ** (1 / KARRAS_RHO);
  return linspace(1, steps).map((share) => (from + share * (to - from)) ** KARRAS_RHO);
}

/** Sigma at a timestep, linear between two timesteps of the schedule. */
export function sigmaAt({ sigmas }: NoiseSchedule, timestep: number): number {
  const low = Math.min(Math.floor(timestep), sigmas.length - 2);
  return sigmas[low] + (timestep - low) * (sigmas[low + 1] - sigmas[low]);
}

/** The timestep of a sigma; unlike `sigmaAt`, linear in log sigma between two timesteps, as in k-diffusion. */
export function timestepOf({ sigmas }: NoiseSchedule, sigma: number): number {
  const low = lastAtMost(sigmas, sigma);
  const share = Math.log(sigma / sigmas[low]) / Math.log(sigmas[low + 1] / sigmas[low]);
  return low + Math.min(Math.max(share, 0), 1);
}

/** Index of the last of the increasing `values` that is at most `value`; never the last index, so that one follows. */
function lastAtMost(values: Float64Array, value: number): number {
  let low = 0;
  let high = values.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (values[middle] <= value) low = middle;
    else high = middle;
  }
  return low;
}

/** numpy's `round`. */
export function roundHalfToEven(value: number): number {
  const floor = Math.floor(value);
  if (value - floor !== 0.5) return Math.round(value);
  return floor % 2 === 0 ? floor : floor + 1;
}

/** `count` timesteps in leading or trailing spacing. */
function evenTimesteps({ spacing, trainTimesteps, stepsOffset }: SpacingOptions, count: number): number[] {
  if (spacing === 'leading') {
    const stride = Math.floor(trainTimesteps / count);
    return Array.from({ length: count }, (_, i) => (count - 1 - i) * stride + stepsOffset);
  }
  // numpy's arange takes its stride from its first two values, which decides how halves round. Unlike arange this always
  // returns `count` timesteps: by rounding, arange sometimes adds one more, which is -1.
  const stride = trainTimesteps - trainTimesteps / count - trainTimesteps;
  return Array.from({ length: count }, (_, i) => roundHalfToEven(trainTimesteps + i * stride) - 1);
}

/** numpy's `linspace(0, end, count)`: computes the stride first, multiplies by it, and sets the last value to `end`. */
function linspace(end: number, count: number): number[] {
  const stride = end / (count - 1);
  return Array.from({ length: count }, (_, i) => (i === 0 ? 0 : i === count - 1 ? end : i * stride));
}

/** All samplers by name: starts runs of them, and lists the samplers and step counts that a model's schedule allows. */
import { LehrError } from '@lehr/shared';
import { noiseSchedule, roundHalfToEven } from '../noise-schedule.ts';
import type { SchedulerConfig } from '../scheduler-config.ts';
import { ddim } from './ddim.ts';
import { dpmpp2m, dpmpp2mKarras, dpmpp2mSdeKarras } from './dpmpp-2m.ts';
import { euler, eulerAncestral } from './euler.ts';
import { lcm } from './lcm.ts';
import { pndm } from './pndm.ts';
import {
  type DenoisingWindow,
  PlannedRun,
  SAMPLER_NAMES,
  type SamplerKind,
  type SamplerName,
  type SamplerPlan,
  type SamplerRun,
  type SamplerSetup,
} from './sampler.ts';
import { unipc } from './unipc.ts';

export interface SamplerRunOptions {
  readonly name: SamplerName;
  readonly config: SchedulerConfig;
  readonly steps: number;
  /** Values in the sample's latent, 4 * h/8 * w/8. */
  readonly latentLength: number;
  /** Image to image: share of the schedule to make, above 0 and at most 1. Text to image: 1, the default. */
  readonly strength?: number;
  /** Only for ddim: share of each step's noise that is newly drawn, from 0 (the default) to 1. */
  readonly eta?: number;
  /** Its start is used in place of the strength. */
  readonly window?: DenoisingWindow;
}

export const SAMPLER_KINDS: Readonly<Record<SamplerName, SamplerKind>> = {
  ddim,
  euler,
  euler_a: eulerAncestral,
  dpmpp_2m: dpmpp2m,
  dpmpp_2m_karras: dpmpp2mKarras,
  dpmpp_2m_sde_karras: dpmpp2mSdeKarras,
  lcm,
  pndm,
  unipc,
};

/** For options that createSamplerRun has checked, and for tests. */
export function uncheckedRun(options: SamplerRunOptions): SamplerRun {
  const kind = SAMPLER_KINDS[options.name];
  const setup = setupOf(options);
  const { plan, calls } = partOf(kind.plan(setup), setup);
  return new PlannedRun(plan, kind.rule(setup, plan), options.latentLength, calls);
}

export function setupOf(options: Omit<SamplerRunOptions, 'latentLength'>): SamplerSetup {
  const { name, config, steps, strength = 1, eta = 0, window = {} } = options;
  const spacing = config.timestepSpacing ?? SAMPLER_KINDS[name].defaultSpacing;
  return { config, schedule: noiseSchedule(config), spacing, steps, strength, eta, window };
}

/** The plan from the first call that is made, and how many calls are; diffusers compares timesteps in the same way. */
function partOf(
  plan: SamplerPlan,
  { config: { trainTimesteps }, window: { start, end } }: SamplerSetup,
): { readonly plan: SamplerPlan; readonly calls: number } {
  const cutoff = (share: number): number => roundHalfToEven(trainTimesteps - share * trainTimesteps);
  const { timesteps, sigmas } = plan;
  const isBelow = (timestep: number): boolean => start !== undefined && timestep < cutoff(start);
  const firstCall =
    start === undefined ? plan.firstCall : timesteps.length - timesteps.filter(isBelow).length;
  const left = timesteps.slice(firstCall);
  const calls = end === undefined ? left.length : left.filter((timestep) => timestep >= cutoff(end)).length;
  return { plan: { ...plan, timesteps: left, sigmas: sigmas.slice(firstCall) }, calls };
}

interface StepRange {
  readonly min: number;
  readonly max: number;
}

/**
 * Starts a sample's run. Throws LehrError `invalid-input` naming /input/sampler, /input/steps, /input/strength or the denoising
 * window and what is allowed there.
 */
export function createSamplerRun(options: SamplerRunOptions): SamplerRun {
  checkRun(options);
  return uncheckedRun(options);
}

/** Throws as createSamplerRun does. */
export function checkRun(options: Omit<SamplerRunOptions, 'latentLength'>): void {
  const { name, config } = options;
  const refusal = SAMPLER_KINDS[name].refusal?.(config);
  if (refusal) {
    const names = samplersFor(config).join(', ');
    throw refused('/input/sampler', `must be one of ${names}; ${name} cannot run on this model: ${refusal}`);
  }
  checkSteps(name, setupOf(options));
}

/**
 * The samplers that can run on a schedule, in the order of SAMPLER_NAMES. On a schedule with zero terminal SNR, ddim and
 * lcm begin at pure noise and need a model that predicts velocities; samplers with sigmas use the sigma of 2^-24 of a
 * picture in place of the infinite one, as diffusers does; pndm cannot run.
 */
export function samplersFor(config: SchedulerConfig): SamplerName[] {
  return SAMPLER_NAMES.filter((name) => SAMPLER_KINDS[name].refusal?.(config) === undefined);
}

/** The step counts for text to image: all from `min` to `max`. */
export function stepRange(name: SamplerName, config: SchedulerConfig): StepRange {
  return rangeOf(SAMPLER_KINDS[name], setupOf({ name, config, steps: 1 }));
}

function checkSteps(name: SamplerName, setup: SamplerSetup): void {
  const { steps, strength, window } = setup;
  const kind = SAMPLER_KINDS[name];
  if (!(strength > 0 && strength <= 1)) {
    throw refused('/input/strength', `must be above 0 and at most 1; it is ${strength}`);
  }
  const givesPicture = steps > 1 || strength < 1 || window.start !== undefined || beginsInNoise(kind, setup);
  if (!isPossible(kind, setup) || !givesPicture) {
    const { min, max } = rangeOf(kind, setup);
    throw refused(
      '/input/steps',
      `must be a whole number from ${min} to ${max} with ${name}; it is ${steps}`,
    );
  }
  const plan = kind.plan(setup);
  if (window.start === undefined && plan.firstCall === steps) {
    const product = `${steps} steps times strength must be at least 1`;
    throw refused('/input/strength', `must leave at least one step: ${product}; it is ${strength}`);
  }
  if (partOf(plan, setup).calls > 0) return;
  const { start = 0, end = 1 } = window;
  const field = window.end === undefined ? 'denoising_start' : 'denoising_end';
  throw refused(
    `/input/${field}`,
    `must leave at least one step: none of ${steps} steps of ${name} is from ${start} to ${end}`,
  );
}

function rangeOf(kind: SamplerKind, setup: SamplerSetup): StepRange {
  // Binary search: when a step count is impossible, every larger one is too.
  let max = 1;
  let impossible = setup.config.trainTimesteps + 1;
  while (impossible - max > 1) {
    const middle = (max + impossible) >> 1;
    if (isPossible(kind, { ...setup, steps: middle })) max = middle;
    else impossible = middle;
  }
  return { min: beginsInNoise(kind, { ...setup, steps: 1 }) ? 1 : 2, max };
}

/** Whether the sampler has this many timesteps: all inside the schedule, with strictly decreasing sigmas. */
function isPossible(kind: SamplerKind, setup: SamplerSetup): boolean {
  const { steps, config } = setup;
  if (!Number.isInteger(steps) || steps < 1 || steps > config.trainTimesteps) return false;
  const { timesteps, sigmas } = kind.plan(setup);
  const isEnough = timesteps.length >= steps;
  return (
    isEnough && timesteps[0] < config.trainTimesteps && sigmas.every((s, i) => i === 0 || s < sigmas[i - 1])
  );
}

/**
 * Leading spacing, and linspace for some samplers, puts a single step at the clean end of the schedule. Such a run would
 * return the seed's noise almost unchanged, not a picture.
 */
function beginsInNoise(kind: SamplerKind, setup: SamplerSetup): boolean {
  return kind.plan(setup).timesteps[0] >= setup.config.trainTimesteps / 2;
}

function refused(pointer: string, detail: string): LehrError {
  return new LehrError('invalid-input', `${pointer} ${detail}.`, { problems: [{ pointer, detail }] });
}

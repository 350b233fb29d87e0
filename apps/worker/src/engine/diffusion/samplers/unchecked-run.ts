/** All samplers by name, and runs of them without the checks of index.ts: for any options that diffusers accepts too. */
import { noiseSchedule } from '../noise-schedule.ts';
import type { SchedulerConfig } from '../scheduler-config.ts';
import { ddim } from './ddim.ts';
import { dpmpp2m, dpmpp2mKarras, dpmpp2mSdeKarras } from './dpmpp-2m.ts';
import { euler } from './euler.ts';
import { eulerAncestral } from './euler-ancestral.ts';
import { lcm } from './lcm.ts';
import { pndm } from './pndm.ts';
import type { SamplerName, SamplerRun } from './sampler.ts';
import type { SamplerKind, SamplerPlan, SamplerSetup } from './sampler-kind.ts';
import { PlannedRun } from './sampler-run.ts';
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

/** For options that createSamplerRun (index.ts) has checked, and for tests. */
export function uncheckedRun(options: SamplerRunOptions): SamplerRun {
  const kind = SAMPLER_KINDS[options.name];
  const setup = setupOf(options);
  const plan = fromFirstCall(kind.plan(setup));
  return new PlannedRun(plan, kind.rule(setup, plan), options.latentLength);
}

export function setupOf(options: Omit<SamplerRunOptions, 'latentLength'>): SamplerSetup {
  const { name, config, steps, strength = 1, eta = 0 } = options;
  const spacing = config.timestepSpacing ?? SAMPLER_KINDS[name].defaultSpacing;
  return { config, schedule: noiseSchedule(config), spacing, steps, strength, eta };
}

/** The part of a plan that an image-to-image run makes. */
function fromFirstCall(plan: SamplerPlan): SamplerPlan {
  const { firstCall, timesteps, sigmas } = plan;
  return { ...plan, timesteps: timesteps.slice(firstCall), sigmas: sigmas.slice(firstCall) };
}

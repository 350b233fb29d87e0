/** What each sampler file exports: the timesteps that a run visits, and the rule for the step from each to the next. */
import type { ModelOutput } from '../model-output.ts';
import type { NoiseSchedule } from '../noise-schedule.ts';
import type { SchedulerConfig, Spacing } from '../scheduler-config.ts';
import type { SpacingOptions } from '../timesteps.ts';
import type { DrawNoise } from './sampler.ts';

export interface SamplerKind {
  /** Used when scheduler_config.json has no spacing; each sampler has its own default, as in diffusers. */
  readonly defaultSpacing: Spacing;
  /** Why this sampler cannot run on a model's schedule; undefined when it can. */
  refusal?(config: SchedulerConfig): string | undefined;
  plan(setup: SamplerSetup): SamplerPlan;
  /** `plan` begins at the run's first call: an image-to-image run leaves out the noisiest timesteps. */
  rule(setup: SamplerSetup, plan: SamplerPlan): SamplerRule;
}

export interface SamplerSetup {
  readonly config: SchedulerConfig;
  readonly schedule: NoiseSchedule;
  readonly spacing: Spacing;
  readonly steps: number;
  /** Share of the schedule that an image-to-image run makes, from its clean end; 1 in text to image. */
  readonly strength: number;
  /** DDIM: share of each step's noise that is newly drawn. */
  readonly eta: number;
}

export interface SamplerPlan {
  /** One per model call. */
  readonly timesteps: readonly number[];
  /** One per timestep and a final 0, relative to the picture; empty for samplers without sigmas. */
  readonly sigmas: readonly number[];
  readonly initNoiseSigma: number;
  /** First call of an image-to-image run; 0 in text to image. */
  readonly firstCall: number;
}

export interface SamplerRule {
  /** Image to image: the first latent is `picture * clean latent + noise * unit noise`. */
  readonly start: { readonly picture: number; readonly noise: number };
  /** Number of latents kept from call to call; all zero at the start. */
  readonly historyLength: number;
  /** Factor on the latent in the model's input; 1 when absent. */
  inputScale?(call: number): number;
  /** Whether the update of a call draws noise, as many values as the latent has; no call does when absent. */
  drawsNoise?(call: number): boolean;
  /** Updates `latent` and `history` in place. */
  update(
    call: number,
    output: ModelOutput,
    latent: Float32Array,
    history: readonly Float32Array[],
    drawNoise: DrawNoise,
  ): void;
}

export function spacingOptions({ config, spacing, steps }: SamplerSetup): SpacingOptions {
  return { spacing, steps, trainTimesteps: config.trainTimesteps, stepsOffset: config.stepsOffset };
}

/** The number of calls that an image-to-image run leaves out: it makes `steps * strength` steps, rounded down, as in diffusers. */
export function firstCall({ steps, strength }: SamplerSetup): number {
  return steps - Math.trunc(steps * strength);
}

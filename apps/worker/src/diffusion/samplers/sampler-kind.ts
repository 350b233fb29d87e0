/** What each sampler file gives: which timesteps a run visits, and the rule that leads from each to the next. */
import type { NoiseSchedule } from '../noise-schedule.ts';
import type { SchedulerConfig, Spacing } from '../scheduler-config.ts';
import type { SpacingOptions } from '../timesteps.ts';
import type { DrawNoise } from './sampler.ts';

export interface SamplerKind {
  /** Used when scheduler_config.json names no spacing; as in diffusers each sampler has its own. */
  readonly defaultSpacing: Spacing;
  /** Why this sampler cannot run on a model's schedule; undefined when it can. */
  refusal?(config: SchedulerConfig): string | undefined;
  plan(setup: SamplerSetup): SamplerPlan;
  /** `plan` begins at the run's first call: an image-to-image run has lost its noisiest timesteps. */
  rule(setup: SamplerSetup, plan: SamplerPlan): SamplerRule;
}

export interface SamplerSetup {
  readonly config: SchedulerConfig;
  readonly schedule: NoiseSchedule;
  readonly spacing: Spacing;
  readonly steps: number;
  /** Share of the noise that an image-to-image run begins with; 1 in text to image. */
  readonly strength: number;
  /** DDIM: share of the variance drawn anew on each step. */
  readonly eta: number;
}

export interface SamplerPlan {
  /** One per model call. */
  readonly timesteps: readonly number[];
  /** One per timestep and a closing 0, in units of the picture; empty for a sampler that has no use for them. */
  readonly sigmas: readonly number[];
  readonly initNoiseSigma: number;
  /** First call of an image-to-image run; 0 in text to image. */
  readonly firstCall: number;
}

export interface SamplerRule {
  /** Image to image: a latent at the first call is `picture * clean latent + noise * unit noise`. */
  readonly start: { readonly picture: number; readonly noise: number };
  /** Latents kept from call to call, all zero at the start. */
  readonly historyLength: number;
  /** Factor on the latent that the model sees; 1 where absent. */
  inputScale?(call: number): number;
  /** Replaces `latent` and updates `history`, in place. */
  update(
    call: number,
    modelOutput: Float32Array,
    latent: Float32Array,
    history: readonly Float32Array[],
    drawNoise: DrawNoise,
  ): void;
}

export function spacingOptions({ config, spacing, steps }: SamplerSetup): SpacingOptions {
  return { spacing, steps, trainTimesteps: config.trainTimesteps, stepsOffset: config.stepsOffset };
}

/** Calls an image-to-image run leaves out: as in diffusers, `strength` of the steps are made, rounded down. */
export function firstCall({ steps, strength }: SamplerSetup): number {
  return steps - Math.trunc(steps * strength);
}

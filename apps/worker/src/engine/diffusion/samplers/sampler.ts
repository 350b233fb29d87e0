/**
 * A sampler turns noise predictions into cleaner and cleaner latents. Each sample has its own SamplerRun and runs share
 * nothing, so samples with different samplers, step counts and seeds can be in one batch.
 */

import { LehrError } from '@lehr/shared';
import { ModelOutput } from '../model-output.ts';
import type { NoiseLevel, NoiseSchedule, SpacingOptions } from '../noise-schedule.ts';
import type { SchedulerConfig, Spacing } from '../scheduler-config.ts';

export { SAMPLER_NAMES, type SamplerName } from '@lehr/shared';

/** Draws `length` standard normal values from the sample's own seeded stream. */
export type DrawNoise = (length: number) => Float32Array;

/** What a run needs to continue in another process: plain data, at most three latents. */
export interface SamplerState {
  /** Model calls already made. */
  readonly call: number;
  /** What a multistep sampler keeps of earlier calls, each as long as the latent; each sampler has its own order. */
  readonly history: readonly Float32Array[];
}

/** A latent is `picture * clean latent + noise * unit noise`. */
export interface LatentLevel {
  readonly picture: number;
  readonly noise: number;
}

export const latentLevel = ({ alpha, sigma }: NoiseLevel): LatentLevel => ({ picture: alpha, noise: sigma });

/** After the last call. */
export const CLEAN: LatentLevel = { picture: 1, noise: 0 };

export interface SamplerRun {
  /** The timestep of every model call, in order; PNDM makes one more call than steps. */
  readonly timesteps: readonly number[];
  /** The seed's unit noise is multiplied by this before the first call. */
  readonly initNoiseSigma: number;
  /** Model calls made so far; the run has ended when this equals `timesteps.length`. */
  readonly call: number;
  /** Whether the next step draws noise: as many values as the latent has. */
  readonly drawsNoise: boolean;
  /** Writes the model's input for the next call into `out`: Euler divides by sqrt(sigma^2 + 1), most samplers copy. */
  scaleModelInput(latent: Float32Array, out: Float32Array): void;
  /**
   * Makes a step: updates `latent` in place from the guided model output for it. Returns false when the output is not finite: the run
   * cannot continue then, except from an earlier state.
   */
  step(output: ModelOutput | Float32Array, latent: Float32Array, drawNoise: DrawNoise): boolean;
  /** Image to image: adds unit `noise` to a clean `latent`, in place, up to the level of the next call; nothing when none is left. */
  addNoise(latent: Float32Array, noise: Float32Array): void;
  /** Whether its noisy latents are `picture + sigma * noise`, as those of Euler, and not of unit variance. */
  readonly hasSigmaUnits: boolean;
  /** Changes a noisy `latent` of a run with the other units to those of this run, at the level of its first call. */
  convertUnits(latent: Float32Array): void;
  /** What a latent of the next call holds of a clean latent and of unit noise. */
  readonly level: LatentLevel;
  /** A copy of the state. Stochastic runs also need the state of their noise stream to continue. */
  state(): SamplerState;
  /** Continues from a `state()` of a run with the same options. Throws LehrError `internal` for any other state. */
  restore(state: SamplerState): void;
}

/** What each sampler file exports: the timesteps that a run visits, and the rule for the step from each to the next. */
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
  readonly window: DenoisingWindow;
}

/** As in diffusers, the part of the training schedule that a run makes, each from 0 (noise) to 1 (clean); all of it where absent. */
export interface DenoisingWindow {
  /** In place of the strength: the run leaves out the timesteps that are noisier. */
  readonly start?: number | undefined;
  /** The run stops before the timesteps that are cleaner, and its latent is still noisy. */
  readonly end?: number | undefined;
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
  /** Of the latent that a call reads. */
  level(call: number): LatentLevel;
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

/** A run of one sample: counts the calls of a plan and holds the history that the rule updates. */
export class PlannedRun implements SamplerRun {
  readonly timesteps: readonly number[];
  readonly initNoiseSigma: number;
  readonly #rule: SamplerRule;
  readonly #history: readonly Float32Array[];
  readonly #latentLength: number;
  #call = 0;

  /** `calls`: those that are made. A rule knows the whole plan, because some steps depend on how many follow. */
  constructor(plan: SamplerPlan, rule: SamplerRule, latentLength: number, calls = plan.timesteps.length) {
    this.timesteps = plan.timesteps.slice(0, calls);
    this.initNoiseSigma = plan.initNoiseSigma;
    this.#rule = rule;
    this.#latentLength = latentLength;
    this.#history = Array.from({ length: rule.historyLength }, () => new Float32Array(latentLength));
  }

  get call(): number {
    return this.#call;
  }

  get drawsNoise(): boolean {
    return this.#call < this.timesteps.length && this.#rule.drawsNoise?.(this.#call) === true;
  }

  scaleModelInput(latent: Float32Array, out: Float32Array): void {
    this.#expect(latent, out);
    const scale = this.#rule.inputScale?.(this.#call);
    if (scale === undefined) {
      out.set(latent);
      return;
    }
    for (let i = 0; i < latent.length; i++) out[i] = latent[i] * scale;
  }

  step(output: ModelOutput | Float32Array, latent: Float32Array, drawNoise: DrawNoise): boolean {
    this.#expect(output, latent);
    if (this.#call === this.timesteps.length) {
      throw new Error(`All ${this.#call} calls of this run have been made. This is a bug in Lehr.`);
    }
    const read = ModelOutput.from(output);
    this.#rule.update(this.#call, read, latent, this.#history, drawNoise);
    if (read.isFinite) this.#call++;
    return read.isFinite;
  }

  get level(): LatentLevel {
    return this.#call < this.timesteps.length ? this.#rule.level(this.#call) : CLEAN;
  }

  addNoise(latent: Float32Array, noise: Float32Array): void {
    this.#expect(latent, noise);
    const { level } = this;
    for (let i = 0; i < latent.length; i++) latent[i] = level.picture * latent[i] + level.noise * noise[i];
  }

  get hasSigmaUnits(): boolean {
    return this.#rule.inputScale !== undefined;
  }

  convertUnits(latent: Float32Array): void {
    const { level, inputScale } = this.#rule;
    const factor = inputScale ? 1 / inputScale(0) : level(0).picture;
    for (let i = 0; i < latent.length; i++) latent[i] *= factor;
  }

  state(): SamplerState {
    return { call: this.#call, history: this.#history.map((latent) => latent.slice()) };
  }

  restore({ call, history }: SamplerState): void {
    const calls = this.timesteps.length;
    const fits =
      Number.isInteger(call) &&
      call >= 0 &&
      call <= calls &&
      history.length === this.#history.length &&
      history.every((latent) => latent.length === this.#latentLength);
    if (!fits) {
      const lengths = history.map((latent) => latent.length).join(', ');
      throw new LehrError(
        'internal',
        `This sampler state belongs to another run: call ${call} of ${calls}, a history of [${lengths}] values, wanted ` +
          `${this.#history.length} latents of ${this.#latentLength}.`,
      );
    }
    for (const [i, latent] of this.#history.entries()) latent.set(history[i]);
    this.#call = call;
  }

  #expect(...arrays: readonly { readonly length: number }[]): void {
    for (const { length } of arrays) {
      if (length === this.#latentLength) continue;
      throw new Error(
        `This run's latent has ${this.#latentLength} values, not ${length}. This is a bug in Lehr.`,
      );
    }
  }
}

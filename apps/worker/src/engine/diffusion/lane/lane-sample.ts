/** One picture in the engine, or one pass of it: what was asked for, and how far it is. It shares nothing with other samples. */
import { stepsMade } from '@lehr/shared';
import type { DiffusionSample } from '../../protocol/messages.ts';
import { PROMPT_ALONE } from '../conditioning.ts';
import type { RowControl } from '../control/control-nets.ts';
import { SampleControls } from '../control/sample-controls.ts';
import type { NoisyLatent } from '../latent-file.ts';
import type { NoisePredictions } from '../model-output.ts';
import type { SchedulerConfig } from '../scheduler-config.ts';
import type { UnetRow } from '../unet.ts';
import type { LaneMember } from './choose-batch.ts';
import { Denoising } from './denoising.ts';
import { PromptRows } from './prompt-rows.ts';

export class LaneSample implements LaneMember {
  readonly request: DiffusionSample;
  /** The first pass of this sample, when this is the second one. */
  readonly first: LaneSample | undefined;
  /** Steps that all of its passes make, as the caller counts them. */
  readonly steps: number;
  /** Those of this pass. */
  readonly ownSteps: number;
  readonly denoising: Denoising;
  readonly prompt: PromptRows;
  readonly controls: SampleControls;
  readonly rows: 1 | 2;
  /** This and the other times are on the engine's monotonic clock. */
  readonly arrivedAt: number;
  textMs = 0;
  /** Device time of its turns here before it is decoded: of each the share of its rows. */
  deviceMs = 0;
  decodeMs = 0;
  startedAt = 0;
  denoisedAt = 0;
  hasBegun = false;
  /** Steps that its lane has made without it. */
  leftOut = 0;
  /** Sum of the batch sizes of this sample's steps here. */
  #batchSizeSum = 0;

  /** Throws LehrError `invalid-input` when the sampler cannot make this many steps. */
  constructor(
    request: DiffusionSample,
    config: SchedulerConfig,
    shape: NoisyLatent['shape'],
    arrivedAt: number,
    conditioning = PROMPT_ALONE,
    first?: LaneSample,
  ) {
    this.request = request;
    this.arrivedAt = arrivedAt;
    this.denoising = new Denoising(request, config, shape, conditioning.readsMask);
    const isWhole = request.denoisingStart === undefined && request.denoisingEnd === undefined;
    this.ownSteps = isWhole ? stepsMade(request) : this.denoising.callsLeft;
    const { hires, sampler } = request;
    this.steps = (first?.ownSteps ?? 0) + this.ownSteps + (hires ? stepsMade({ ...hires, sampler }) : 0);
    this.prompt = new PromptRows(request, conditioning);
    this.controls = first?.controls ?? new SampleControls(request.controls ?? [], request);
    this.rows = this.prompt.count;
    this.first = first;
    if (!first) return;
    this.textMs = first.textMs;
    this.startedAt = first.startedAt;
    // The first pass of a Lanczos upscaler was decoded.
    this.deviceMs = first.deviceMs + first.decodeMs;
  }

  /** It makes its first step here, or another one. */
  begin(now: number): void {
    if (!this.hasBegun && !this.first?.hasBegun) this.startedAt = now;
    this.hasBegun = true;
  }

  /** Steps made, as the caller counts them: a sampler may make one more model call than steps. */
  get step(): number {
    return (this.first?.ownSteps ?? 0) + Math.min(this.denoising.call, this.ownSteps);
  }

  get stepsLeft(): number {
    return this.steps - this.step;
  }

  get isUrgent(): boolean {
    return this.request.priority === 'interactive';
  }

  get maxBatchMates(): number {
    return this.request.maxBatchMates;
  }

  get batchSize(): number {
    const callsHere = this.denoising.callsHere + (this.first?.denoising.callsHere ?? 0);
    return callsHere === 0
      ? 1
      : (this.#batchSizeSum + (this.first ? this.first.#batchSizeSum : 0)) / callsHere;
  }

  /** Whether some of its steps were made elsewhere. */
  get isResumed(): boolean {
    return this.denoising.isResumed || this.first?.isResumed === true;
  }

  /** Whether ControlNets guide its next call. */
  get isGuided(): boolean {
    return this.#controlsAtNext.length > 0;
  }

  /** This sample's rows of the next batch. */
  nextRows(): UnetRow[] {
    const controls = this.#controlsAtNext;
    const rows = this.prompt.at(this.denoising.nextInput(), this.denoising.timestep);
    return controls.length === 0 ? rows : rows.map((row) => ({ ...row, controls }));
  }

  get #controlsAtNext(): readonly RowControl[] {
    const { call, callsLeft } = this.denoising;
    return this.controls.at(call, call + callsLeft, this.request);
  }

  /**
   * Makes a step from the predictions for `nextRows`, the first of which is row `firstRow` of the run. Returns false when they are not
   * finite; the sample can make no further step then.
   */
  advance(predictions: NoisePredictions, firstRow: number, batchSize: number): boolean {
    const output = predictions.outputFor(firstRow, this.rows, this.request.guidance);
    if (!this.denoising.advance(output)) return false;
    this.#batchSizeSum += batchSize;
    return true;
  }
}

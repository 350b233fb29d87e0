/**
 * The samples of one latent shape. Each turn is one step of a batch: samples may join, and those that made their last step leave. No
 * sample waits for a batch to form or to end. When not all of them fit into a step, those with the most steps to go pause.
 *
 *   waiting -> running <-> paused     the states of a sample
 *              running -> denoised
 *
 * A model whose graph takes one timestep for all rows (`aligned`) begins a batch only when the last one has ended, of samples with
 * equal steps, strength, sampler and guidance; none of them pauses.
 */
import { type Clock, LehrError, toPlainError } from '@lehr/shared';
import type { RowCap } from '../../lanes/row-cap.ts';
import { runInHalves } from '../../lanes/run-in-halves.ts';
import type { TurnTaker } from '../../lanes/turns.ts';
import type { FromEngine, SampleId } from '../../protocol/messages.ts';
import type { Batching } from '../../runtime/runtime.ts';
import type { LatentRgb } from '../latent-rgb.ts';
import type { NoisePredictions } from '../model-output.ts';
import type { NoiseDrawer } from '../noise.ts';
import type { LatentSize } from '../row-feeds.ts';
import type { UnetRow } from '../unet.ts';
import { chooseBatch } from './choose-batch.ts';
import type { LaneSample } from './lane-sample.ts';

/** The part of Unet that a lane needs. */
interface Denoiser {
  readonly batching: Batching;
  predict(rows: readonly UnetRow[], size: LatentSize, padTo?: number): Promise<NoisePredictions>;
}

export interface LaneOptions {
  readonly name: string;
  readonly unet: Denoiser;
  readonly size: LatentSize;
  /** Makes previews; when undefined, there are none. */
  readonly latentRgb?: LatentRgb | undefined;
  readonly cap: RowCap;
  /** Row counts that runs are padded to, for providers that tune per shape; empty for none. */
  readonly ladder: readonly number[];
  /** Draws noise while the graph runs; when undefined, the engine's own thread does after the run. */
  readonly noise?: Pick<NoiseDrawer, 'begin'> | undefined;
  readonly clock: Clock;
  readonly post: (message: FromEngine) => void;
  /** A sample has made its last step; its latent is final. */
  readonly onDenoised: (sample: LaneSample) => void;
  /** Whether many latents wait to be decoded already; free rows are then not announced before they are free. */
  readonly isDecodeCongested: () => boolean;
  /** Called with the samples that have made a step, before those that are done leave. */
  readonly onStepped?: (samples: readonly LaneSample[]) => void;
  /** Makes the error for the caller when a run that had only this sample has failed. Absent: the error of the run. */
  readonly explain?: (error: LehrError, sample: LaneSample) => LehrError;
}

export class Lane implements TurnTaker {
  readonly #options: LaneOptions;
  /** In the order of their arrival. */
  #samples: LaneSample[] = [];
  #reportedCap: number | undefined;

  constructor(options: LaneOptions) {
    this.#options = options;
  }

  get hasWork(): boolean {
    return this.#samples.length > 0;
  }

  get samples(): number {
    return this.#samples.length;
  }

  submit(sample: LaneSample): void {
    this.#samples.push(sample);
    this.#reportCap();
  }

  /** Removes a sample, which takes no further step; returns false when there is no such sample. */
  cancel(id: SampleId): boolean {
    const before = this.samples;
    this.#samples = this.#samples.filter(({ request }) => request.id !== id);
    return this.samples < before;
  }

  find(id: SampleId): LaneSample | undefined {
    return this.#samples.find(({ request }) => request.id === id);
  }

  /** Posts a preview of this sample after its next step; returns false when there is no such sample. */
  preview(id: SampleId): boolean {
    const sample = this.find(id);
    if (sample && this.#options.latentRgb) sample.denoising.wantsPreview = true;
    return sample !== undefined;
  }

  /** One step of the samples whose turn it is. Never rejects: an error fails samples. */
  async takeTurn(): Promise<void> {
    const samples = this.#nextBatch();
    if (samples.length === 0) return;
    this.#options.post({ type: 'running', samples: samples.map((sample) => sample.request.id) });
    this.#announceLastSteps(samples);
    const startedAt = this.#options.clock.monotonic();
    const rows = rowsOf(samples);
    const cap = this.#options.cap.rows;
    const guided = samples.filter((sample) => sample.isGuided);
    const { runMs, controlMs } = await this.#step(samples);
    const ms = this.#options.clock.monotonic() - startedAt;
    // The time of a step that had to be split, or that ran ControlNets for some of its rows, is no measure of a whole one.
    if (runMs !== undefined && guided.length === 0) this.#options.cap.observe(rows, ms);
    this.#reportCap();
    this.#options.post({
      type: 'stepped',
      lane: this.#options.name,
      rows,
      cap,
      ms,
      ...(runMs !== undefined && { hostMs: Math.max(0, ms - runMs) }),
      samples: samples.map(({ request, step, steps }) => ({ id: request.id, step, steps })),
    });
    // A cancel or a failure may have removed some during the step.
    const stepped = samples.filter((sample) => this.#samples.includes(sample));
    for (const sample of stepped) {
      sample.deviceMs += ((ms - controlMs) * sample.rows) / rows;
      // Those that no ControlNet guides do not pay for it.
      if (guided.includes(sample)) sample.deviceMs += (controlMs * sample.rows) / rowsOf(guided);
    }
    this.#options.onStepped?.(stepped);
    this.#postPreviews(stepped);
    this.#finish(stepped);
  }

  #nextBatch(): readonly LaneSample[] {
    const { unet, cap, clock } = this.#options;
    const isAligned = unet.batching.mode === 'aligned';
    const begun = this.#samples.filter((sample) => sample.hasBegun);
    let batch = isAligned && begun.length > 0 ? begun : chooseBatch(this.#samples, cap.rows);
    if (isAligned) batch = batch.filter((sample) => canShareTimesteps(sample, batch[0]));
    const stepping = new Set(batch);
    const now = clock.monotonic();
    for (const sample of this.#samples) {
      if (stepping.has(sample)) sample.begin(now);
      else sample.leftOut++;
    }
    return batch;
  }

  /** Posted before a sample's last step, so that the worker can claim a job for its rows in time for the next step. */
  #announceLastSteps(samples: readonly LaneSample[]): void {
    if (this.#options.isDecodeCongested()) return;
    for (const sample of samples) {
      if (sample.denoising.callsLeft === 1)
        this.#options.post({ type: 'last-step', sample: sample.request.id });
    }
  }

  /** Runs one step of the samples together. `runMs`: in the graphs, or undefined when it had to be split; `controlMs`: in ControlNets. */
  async #step(
    samples: readonly LaneSample[],
  ): Promise<{ readonly runMs: number | undefined; readonly controlMs: number }> {
    const { unet, size, cap, noise } = this.#options;
    const made: { readonly part: readonly LaneSample[]; readonly predictions: NoisePredictions }[] = [];
    const isWhole = await runInHalves(samples, {
      run: async (part) => {
        noise?.begin(part.flatMap((sample) => sample.denoising.drawAhead() ?? []));
        const rows = part.flatMap((sample) => sample.nextRows());
        made.push({ part, predictions: await unet.predict(rows, size, this.#padded(rows.length)) });
      },
      onSplit: (part, { code }) => {
        if (code === 'out-of-memory') cap.limit(Math.floor(rowsOf(part) / 2));
      },
      onFailed: (sample, error) => this.#fail(sample, this.#options.explain?.(error, sample) ?? error),
    });
    for (const { part, predictions } of made) {
      let at = 0;
      for (const sample of part) {
        if (!sample.advance(predictions, at, part.length)) this.#fail(sample, notANumber(sample));
        at += sample.rows;
      }
    }
    const controlMs = made.reduce((sum, { predictions }) => sum + predictions.controlMs, 0);
    return { runMs: isWhole ? made[0].predictions.runMs : undefined, controlMs };
  }

  #padded(rows: number): number {
    return this.#options.ladder.find((rung) => rung >= rows) ?? rows;
  }

  #fail(sample: LaneSample, error: LehrError): void {
    // A cancel may have removed the sample during the run.
    if (!this.cancel(sample.request.id)) return;
    this.#options.post({ type: 'failed', sample: sample.request.id, failure: toPlainError(error) });
  }

  #postPreviews(stepped: readonly LaneSample[]): void {
    const { latentRgb, size, post } = this.#options;
    for (const sample of stepped) {
      const predictedClean = sample.denoising.takePredictedClean();
      if (!predictedClean || !latentRgb) continue;
      const { id } = sample.request;
      post({ type: 'preview', sample: id, step: sample.step, ...latentRgb.thumbnail(predictedClean, size) });
    }
  }

  #finish(stepped: readonly LaneSample[]): void {
    const now = this.#options.clock.monotonic();
    const done = new Set(stepped.filter((sample) => sample.denoising.callsLeft === 0));
    if (done.size === 0) return;
    this.#samples = this.#samples.filter((sample) => !done.has(sample));
    for (const sample of done) {
      sample.denoisedAt = now;
      this.#options.onDenoised(sample);
    }
  }

  #reportCap(): void {
    const { cap, name, post } = this.#options;
    if (cap.rows === this.#reportedCap) return;
    this.#reportedCap = cap.rows;
    post({ type: 'row-cap', lane: name, rows: cap.rows });
  }
}

/**
 * Equal steps, sampler and part of the schedule mean equal timesteps at every step, from the same call on: a resumed sample begins at a later one. Equal
 * guidance means equal rows per sample.
 */
function canShareTimesteps(sample: LaneSample, other: LaneSample): boolean {
  const [a, b] = [sample.request, other.request];
  const isAligned =
    a.steps === b.steps && a.sampler === b.sampler && sample.denoising.call === other.denoising.call;
  const isSamePart = a.denoisingStart === b.denoisingStart && a.denoisingEnd === b.denoisingEnd;
  return isAligned && isSamePart && a.guidance === b.guidance && (a.strength ?? 1) === (b.strength ?? 1);
}

const rowsOf = (samples: readonly LaneSample[]): number =>
  samples.reduce((sum, sample) => sum + sample.rows, 0);

const notANumber = (sample: LaneSample): LehrError =>
  new LehrError(
    'numeric-error',
    `The model's prediction at step ${sample.step + 1} of ${sample.steps} is not finite.`,
  );

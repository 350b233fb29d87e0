/** One picture in the engine: its latent, its sampler's state and its prompt embeddings. It shares nothing with other samples. */
import { rowsPerSample, stepsMade } from '@lehr/shared';
import type { DiffusionSample, PromptCut, PromptCuts } from '../../protocol/messages.ts';
import { decodeCheckpoint, encodeCheckpoint, UnusableCheckpoint } from '../checkpoint.ts';
import {
  type Conditioning,
  type Conditions,
  PROMPT_ALONE,
  type PromptEmbedding,
  pictureConditions,
  type RowKind,
} from '../conditioning.ts';
import { type NoisePredictions, predictedClean } from '../model-output.ts';
import { SeededNoise } from '../noise.ts';
import { createSamplerRun } from '../samplers/index.ts';
import type { SamplerRun } from '../samplers/sampler.ts';
import type { SchedulerConfig } from '../scheduler-config.ts';
import type { UnetRow } from '../unet.ts';
import { drawLatent, type EncodedPicture } from '../vae-encoder.ts';
import type { LaneMember } from './choose-batch.ts';

/** What its rows hold at every step, the negative prompt's first. */
interface PromptRow {
  readonly promptEmbedding: Float32Array;
  readonly conditions: Conditions;
}

export class LaneSample implements LaneMember {
  readonly request: DiffusionSample;
  /** Steps that it makes, as the caller counts them. */
  readonly steps: number;
  /** This and the other times are on the engine's monotonic clock. */
  readonly arrivedAt: number;
  textMs = 0;
  /** Device time of its turns here: of each the share of its rows. */
  deviceMs = 0;
  startedAt = 0;
  denoisedAt = 0;
  hasBegun = false;
  /** Steps that its lane has made without it. */
  leftOut = 0;
  /** `[channels, height, width]`; the final latent once the sample has made its last step. */
  readonly latent: Float32Array;
  /** When set, the next step keeps its predicted clean latent. */
  wantsPreview = false;
  readonly #run: SamplerRun;
  readonly #noise: SeededNoise;
  readonly #input: Float32Array;
  readonly #config: SchedulerConfig;
  readonly #conditioning: Conditioning;
  /** Of its prompt and its negative prompt, those that the text encoder did not read whole. */
  cuts: PromptCuts = {};
  #promptRows: readonly PromptRow[] | undefined;
  #preview: Float32Array | undefined;
  /** Calls that were made before, and their number in the last checkpoint. */
  #resumedAt = 0;
  #checkpointedAt = 0;
  /** Sum of the batch sizes of this sample's steps here. */
  #batchSizeSum = 0;

  /** Throws LehrError `invalid-input` when the sampler cannot make this many steps. */
  constructor(
    request: DiffusionSample,
    config: SchedulerConfig,
    latentLength: number,
    arrivedAt: number,
    conditioning = PROMPT_ALONE,
  ) {
    this.request = request;
    this.#conditioning = conditioning;
    this.arrivedAt = arrivedAt;
    this.#config = config;
    const { sampler: name, steps, strength } = request;
    this.steps = stepsMade(request);
    this.#run = createSamplerRun({
      name,
      config,
      steps,
      latentLength,
      ...(strength !== undefined && { strength }),
    });
    this.#noise = new SeededNoise(request.seed);
    this.latent = request.image ? new Float32Array(latentLength) : this.#noise.draw(latentLength);
    for (let i = 0; i < latentLength; i++) this.latent[i] *= this.#run.initNoiseSigma;
    this.#input = new Float32Array(latentLength);
  }

  /** It makes its first step here, or another one. */
  begin(now: number): void {
    if (!this.hasBegun) this.startedAt = now;
    this.hasBegun = true;
  }

  get rows(): 1 | 2 {
    return rowsPerSample(this.request.guidance, this.#conditioning.guidance);
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

  /** Steps made, as the caller counts them: a sampler may make one more model call than steps. */
  get step(): number {
    return Math.min(this.#run.call, this.steps);
  }

  /** Whether its latent is still to be made from a picture. */
  get needsPicture(): boolean {
    return this.request.image !== undefined && this.#run.call === 0;
  }

  /** Begins at a picture. Noise is drawn in the order of diffusers: for the encoder, then for the first step. */
  beginAt(picture: EncodedPicture): void {
    drawLatent(picture, this.latent, this.#noise.draw);
    this.#run.addNoise(this.latent, this.#noise.draw(this.latent.length));
  }

  get callsLeft(): number {
    return this.#run.timesteps.length - this.#run.call;
  }

  get call(): number {
    return this.#run.call;
  }

  /** Calls since the last checkpoint. */
  get callsToCheckpoint(): number {
    return this.#run.call - this.#checkpointedAt;
  }

  /** Whether it continued from a checkpoint, so that earlier steps were made elsewhere. */
  get isResumed(): boolean {
    return this.#resumedAt > 0;
  }

  get batchSize(): number {
    const calls = this.#run.call - this.#resumedAt;
    return calls === 0 ? 1 : this.#batchSizeSum / calls;
  }

  /** The state after the last step. `identity` must be the same when another sample is restored from it. */
  checkpoint(identity: string): Uint8Array {
    this.#checkpointedAt = this.#run.call;
    const sampler = this.#run.state();
    return encodeCheckpoint(identity, { latent: this.latent, sampler, noise: this.#noise.state() });
  }

  /** Continues from a checkpoint. Throws UnusableCheckpoint, and is unchanged then. */
  restore(checkpoint: Uint8Array, identity: string): void {
    const { latent, sampler, noise } = decodeCheckpoint(checkpoint, identity);
    if (latent.length !== this.latent.length) {
      throw new UnusableCheckpoint(
        `its latent has ${latent.length} values, that of the picture ${this.latent.length}`,
      );
    }
    try {
      this.#run.restore(sampler);
    } catch (error) {
      throw new UnusableCheckpoint((error as Error).message);
    }
    this.#noise.restore(noise);
    this.latent.set(latent);
    this.#resumedAt = sampler.call;
    this.#checkpointedAt = sampler.call;
  }

  /** The texts to encode: the prompt and, for a separate row, the negative prompt. */
  get prompts(): readonly string[] {
    const { prompt, negativePrompt } = this.request;
    return this.rows === 2 && !this.#hasZeroNegative ? [prompt, negativePrompt] : [prompt];
  }

  get #hasZeroNegative(): boolean {
    return this.#conditioning.zeroesEmptyNegative && this.request.negativePrompt === '';
  }

  /** Takes the embeddings of `prompts`, in order. */
  setEmbeddings([prompt, encoded]: readonly PromptEmbedding[]): void {
    const rowOf = ({ hidden, pooled }: PromptEmbedding, kind: RowKind): PromptRow => {
      const shared = pictureConditions(this.#conditioning, this.request, kind);
      return { promptEmbedding: hidden, conditions: pooled ? { ...shared, text_embeds: pooled } : shared };
    };
    this.setCuts([prompt.cut, encoded?.cut]);
    const negative = this.#hasZeroNegative ? zerosLike(prompt) : encoded;
    const positive = rowOf(prompt, 'prompt');
    this.#promptRows = this.rows === 2 ? [rowOf(negative, 'negative'), positive] : [positive];
  }

  /** Takes what was cut of `prompts`, in order. */
  setCuts([prompt, negativePrompt]: readonly (PromptCut | undefined)[]): void {
    this.cuts = { ...(prompt && { prompt }), ...(negativePrompt && { negativePrompt }) };
  }

  /** This sample's rows of the next batch: with guidance, the negative prompt's row and then the prompt's. */
  nextRows(): UnetRow[] {
    if (!this.#promptRows) throw new Error('A sample has no prompt embeddings yet. This is a bug in Lehr.');
    this.#run.scaleModelInput(this.latent, this.#input);
    const timestep = this.#run.timesteps[this.#run.call];
    return this.#promptRows.map((row) => ({ latent: this.#input, timestep, ...row }));
  }

  /** Asks for the noise of the next step before it is needed; returns memory for the noise thread, when there is anything to draw. */
  drawAhead(): SharedArrayBuffer | undefined {
    return this.#run.drawsNoise ? this.#noise.drawAhead(this.latent.length) : undefined;
  }

  /**
   * Makes a step from the predictions for `nextRows`, the first of which is row `firstRow` of the run. Returns false when they are not
   * finite; the sample can make no further step then.
   */
  advance(predictions: NoisePredictions, firstRow: number, batchSize: number): boolean {
    const output = predictions.outputFor(firstRow, this.rows, this.request.guidance);
    if (this.wantsPreview) {
      const timestep = this.#run.timesteps[this.#run.call];
      this.#preview = predictedClean(this.#config, timestep, this.#input, output);
      this.wantsPreview = false;
    }
    if (!this.#run.step(output, this.latent, this.#noise.draw)) return false;
    this.#batchSizeSum += batchSize;
    return true;
  }

  /** The clean latent that the last step predicted, if a preview was asked for; returned once. */
  takePredictedClean(): Float32Array | undefined {
    const preview = this.#preview;
    this.#preview = undefined;
    return preview;
  }
}

const zerosLike = ({ hidden, pooled }: PromptEmbedding): PromptEmbedding => ({
  hidden: new Float32Array(hidden.length),
  pooled: pooled && new Float32Array(pooled.length),
});

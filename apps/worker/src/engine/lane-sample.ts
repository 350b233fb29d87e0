/** One picture in flight: its latent, its sampler's state and its prompt embeddings. Nothing is shared with its batch mates. */
import { rowsPerSample } from '@lehr/shared';
import { foretellClean } from '../diffusion/foretell.ts';
import { applyGuidance } from '../diffusion/guidance.ts';
import { SeededNoise } from '../diffusion/noise.ts';
import { createSamplerRun } from '../diffusion/samplers/index.ts';
import type { SamplerRun } from '../diffusion/samplers/sampler.ts';
import type { SchedulerConfig } from '../diffusion/scheduler-config.ts';
import type { UnetRow } from '../diffusion/unet.ts';
import type { DiffusionSample } from './protocol.ts';

/** What the text encoder made of a sample's prompts; `negative` only with guidance. `[tokens, embeddingDim]` each. */
export interface PromptEmbeddings {
  readonly prompt: Float32Array;
  readonly negative: Float32Array | undefined;
}

/** When things happened to a sample, on the engine's monotonic clock. */
export interface SampleMarks {
  readonly arrivedAt: number;
  readonly textMs: number;
  startedAt: number;
  denoisedAt: number;
}

export class LaneSample {
  readonly request: DiffusionSample;
  readonly marks: SampleMarks;
  /** `[channels, height, width]`; the final latent once the sample is done. */
  readonly latent: Float32Array;
  readonly #embeddings: PromptEmbeddings;
  readonly #run: SamplerRun;
  readonly #noise: SeededNoise;
  readonly #input: Float32Array;
  readonly #config: SchedulerConfig;
  /** Set by whoever wants to see it: the next step keeps what it foretells. */
  wantsPreview = false;
  #predictedClean: Float32Array | undefined;
  /** Samples that shared this one's steps, summed over its steps. */
  #batchSizeSum = 0;

  /** Throws LehrError `invalid-input` when the sampler cannot make that many steps. */
  constructor(
    request: DiffusionSample,
    embeddings: PromptEmbeddings,
    config: SchedulerConfig,
    latentLength: number,
    marks: SampleMarks,
  ) {
    this.request = request;
    this.marks = marks;
    this.#embeddings = embeddings;
    this.#config = config;
    this.#run = createSamplerRun({ name: request.sampler, config, steps: request.steps, latentLength });
    this.#noise = new SeededNoise(request.seed);
    this.latent = this.#noise.draw(latentLength);
    for (let i = 0; i < latentLength; i++) this.latent[i] *= this.#run.initNoiseSigma;
    this.#input = new Float32Array(latentLength);
  }

  get rows(): 1 | 2 {
    return rowsPerSample(this.request.guidance);
  }

  /** Steps done and to do, as the caller counts them; a sampler may make one model call more. */
  get step(): number {
    return Math.min(this.#run.call, this.request.steps);
  }

  get callsLeft(): number {
    return this.#run.timesteps.length - this.#run.call;
  }

  get batchSize(): number {
    return this.#run.call === 0 ? 0 : this.#batchSizeSum / this.#run.call;
  }

  /** This sample's lines of the next batch: with guidance the negative prompt's row comes first. */
  nextRows(): UnetRow[] {
    this.#run.scaleModelInput(this.latent, this.#input);
    const timestep = this.#run.timesteps[this.#run.call];
    const row = (promptEmbedding: Float32Array): UnetRow => ({
      latent: this.#input,
      timestep,
      promptEmbedding,
    });
    const { prompt, negative } = this.#embeddings;
    return negative ? [row(negative), row(prompt)] : [row(prompt)];
  }

  /** Takes the predictions of `nextRows`, in their order, one step further. */
  advance(predictions: readonly Float32Array[], batchSize: number): void {
    const prediction = predictions[predictions.length - 1];
    if (predictions.length === 2) applyGuidance(predictions[0], prediction, this.request.guidance);
    if (this.wantsPreview) {
      const timestep = this.#run.timesteps[this.#run.call];
      this.#predictedClean = foretellClean(this.#config, timestep, this.#input, prediction);
      this.wantsPreview = false;
    }
    this.#run.step(prediction, this.latent, (length) => this.#noise.draw(length));
    this.#batchSizeSum += batchSize;
  }

  /** The clean latent that its last step predictedClean, if it was wanted; handed out once. */
  takeForetold(): Float32Array | undefined {
    const predictedClean = this.#predictedClean;
    this.#predictedClean = undefined;
    return predictedClean;
  }
}

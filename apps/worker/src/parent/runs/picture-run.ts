/** An attempt of a text-to-image job: one sample per picture, each encoded and stored as soon as the engine returns it. */
import { randomUUID } from 'node:crypto';
import {
  type Clock,
  type GuidanceKind,
  groupQueueName,
  type JobMetrics,
  type Progress,
  type PromptLengths,
  parseGroupQueueName,
  passesOf,
  rowsPerSample,
  seedOfSample,
  stepsMade,
  type TextToImageInput,
  type Timings,
} from '@lehr/shared';
import type { Claim } from '@lehr/shared/queue';
import type { JobRecord, Move, StoredImage } from '@lehr/shared/records';
import { inPart } from '@lehr/shared/tracing';
import type { DiffusionSample, PromptCuts, PromptSizes, SampleId } from '../../engine/protocol/messages.ts';
import { encodeImage } from '../delivery/image-file.ts';
import type { OutputStore } from '../delivery/output-store.ts';
import { type Edit, openEdit, type Pixels, type ReadField } from './edit.ts';
import { JobRun, type SampleResult, type SampleRun } from './job-run.ts';
import type { FetchMedia } from './media-source.ts';
import type { PictureReader } from './picture-reader.ts';
import { deviceMsOf, type PictureTimes, timingsOf, totalOf } from './timeline.ts';

interface Picture {
  readonly image: StoredImage;
  readonly times: PictureTimes;
  readonly batchSize: number;
  readonly cuts: PromptCuts;
  readonly sizes: PromptSizes;
}

interface PictureSample extends SampleRun {
  request: DiffusionSample;
  steps: number;
  picture?: Picture;
}

export interface PictureParts {
  readonly store: OutputStore;
  readonly fetchMedia: FetchMedia;
  /** Shared by all runs of the worker. */
  readonly pictures: Pick<PictureReader, 'read'>;
  readonly clock: Clock;
  /** How its model takes the guidance scale. */
  readonly guidance: GuidanceKind;
  /** Reads the checkpoints of a job, by the index of the picture. */
  readonly readCheckpoints: (record: JobRecord) => Promise<ReadonlyMap<number, Uint8Array>>;
}

export class PictureRun extends JobRun {
  readonly samples: readonly PictureSample[];
  readonly #input: TextToImageInput;
  readonly #store: OutputStore;
  readonly #clock: Clock;
  readonly #fetchMedia: FetchMedia;
  readonly #pictures: PictureParts['pictures'];
  readonly #readCheckpoints: PictureParts['readCheckpoints'];
  /** The picture that it begins at, once it is read. */
  #edit: Edit | undefined;

  constructor(
    claim: Claim,
    record: JobRecord,
    claimedAt: number,
    input: TextToImageInput,
    parts: PictureParts,
  ) {
    super(claim, record, claimedAt);
    this.#input = input;
    this.#store = parts.store;
    this.#clock = parts.clock;
    this.#fetchMedia = parts.fetchMedia;
    this.#pictures = parts.pictures;
    this.#readCheckpoints = parts.readCheckpoints;
    this.samples = Array.from({ length: input.n }, (_, index) => ({
      request: sampleOf(record, input, index),
      rows: rowsPerSample(input.guidance, parts.guidance),
      submittedAt: claimedAt,
      step: 0,
      steps: passesOf(input).reduce((sum, pass) => sum + stepsMade(pass), 0),
      inEngine: false,
    }));
  }

  get firstRows(): number {
    return this.samples.reduce((sum, { rows }) => sum + rows, 0);
  }

  override get fetchesInput(): boolean {
    return this.#input.image !== undefined;
  }

  get isDone(): boolean {
    return this.samples.every(({ picture }) => picture);
  }

  get progress(): Progress {
    const step = this.samples.reduce((sum, sample) => sum + sample.step, 0);
    const steps = this.samples.reduce((sum, sample) => sum + sample.steps, 0);
    const fraction = Math.round((step / steps) * 1000) / 1000;
    return { fraction, stage: step < steps ? 'denoise' : 'decode', step, steps };
  }

  /** The pictures stored so far, with their times. */
  get pictures(): readonly Picture[] {
    return this.samples.flatMap(({ picture }) => (picture ? [picture] : []));
  }

  async begin(): Promise<readonly SampleRun[]> {
    if (this.#input.image) this.#edit = await openEdit(this.#input, this.#readField);
    for (const sample of this.samples) sample.request = { ...sample.request, ...this.#edit?.start };
    const checkpoints = await this.#readCheckpoints(this.record);
    for (const [index, sample] of this.samples.entries()) {
      const checkpoint = checkpoints.get(index);
      if (checkpoint) sample.checkpoint = checkpoint;
    }
    return this.samples;
  }

  readonly #readField: ReadField = async (field, decode, file) => {
    const { signal, span } = this;
    const source = this.#input[field];
    if (!source) throw new Error(`The job has no ${field}. This is a bug in Lehr.`);
    return this.#pictures.read({
      field,
      fetch: async () =>
        file ?? inPart(span, 'fetch picture', () => this.#fetchMedia('picture', source, signal)),
      decode,
      owner: this.record.tenant,
      priority: this.record.priority,
      signal,
    });
  };

  async addResult(sample: SampleRun, result: SampleResult): Promise<readonly SampleRun[]> {
    if (result.type !== 'finished')
      throw new Error(`A picture ended as ${result.type}. This is a bug in Lehr.`);
    const index = this.samples.indexOf(sample as PictureSample);
    const { request, submittedAt } = this.samples[index];
    const { pixels: data, latent, batchSize, cuts, sizes, timings } = result;
    const { file, width, height } = await inPart(this.span, 'encode file', () =>
      this.#finished({ data, width: result.width, height: result.height }, request),
    );
    const encodedAt = this.#clock.monotonic();
    const key = this.outputKey(`${index}.${file.extension}`);
    const latentKey = latent && this.outputKey(`${index}.safetensors`);
    const { contentType, bytes, sha256 } = await inPart(this.span, 'upload', async () => {
      if (latent && latentKey) await this.#store.put(this, latentKey, latent, 'application/octet-stream');
      return this.#store.put(this, key, file.bytes, file.contentType);
    });
    const uploadedAt = this.#clock.monotonic();
    this.samples[index].picture = {
      image: {
        key,
        content_type: contentType,
        width,
        height,
        bytes,
        sha256,
        seed: request.seed,
        ...(latentKey && { latent: latentKey }),
      },
      times: { submittedAt, engine: timings, encodedAt, uploadedAt },
      batchSize,
      cuts,
      sizes,
    };
    return [];
  }

  /** The file of a drawn picture, and the size of that. */
  #finished(drawn: Pixels, request: DiffusionSample) {
    const encode = async (pixels: Pixels) => {
      const file = await encodeImage(pixels, this.#input.output_format, this.#embedded(request));
      return { file, width: pixels.width, height: pixels.height };
    };
    return this.#edit ? this.#edit.finish(drawn, encode) : encode(drawn);
  }

  /** What the file says of its making. */
  #embedded({ seed, steps, sampler, guidance, mask, prompt, negativePrompt }: DiffusionSample) {
    const { strength, denoising_start, denoising_end, hires, prompt_syntax, clip_skip } = this.#input;
    const { mask_invert, mask_blur, mask_fill, only_masked, expand } = this.#input;
    const { original_size, crops_coords_top_left, target_size } = this.#input;
    const { id: job, model } = this.record;
    return {
      ...{ job, model, seed, steps, sampler, guidance },
      ...{ strength, denoising_start, denoising_end, hires, prompt_syntax, clip_skip },
      ...{ original_size, crops_coords_top_left, target_size },
      ...(mask && { masked: true, mask_invert, mask_blur, mask_fill, only_masked, expand }),
      ...(this.#input.embed_prompt && { prompt, negative_prompt: negativePrompt }),
    };
  }

  /** From the text encoder to the last decoded picture, once the job is done. */
  get engineMs(): number {
    const { text, denoise, decode } = this.#timings();
    return text + denoise + decode;
  }

  #timings(): Timings {
    const times = this.pictures.map((picture) => picture.times);
    return timingsOf(this.queuedMs, this.claimedAt, times);
  }

  successFields(worker: string): Move['fields'] {
    const { pictures } = this;
    const timings = this.#timings();
    const totalMs = totalOf(timings);
    const deviceMs = deviceMsOf(pictures.map(({ times }) => times));
    const batchSize = pictures.reduce((sum, picture) => sum + picture.batchSize, 0) / pictures.length;
    const metrics: JobMetrics = {
      queue_ms: timings.queued,
      run_ms: totalMs - timings.queued,
      total_ms: totalMs,
      batch_size: Math.round(batchSize * 100) / 100,
      worker,
      timings,
      ...(deviceMs !== undefined && { device_ms: deviceMs }),
    };
    return { output: { images: pictures.map(({ image }) => image), ...lengthFields(pictures) }, metrics };
  }
}

/** All pictures of a job have its prompts. */
function lengthFields([{ cuts, sizes }]: readonly Picture[]): PromptLengths {
  return {
    ...(cuts.prompt && { truncated_prompt: cuts.prompt }),
    ...(cuts.negativePrompt && { truncated_negative_prompt: cuts.negativePrompt }),
    ...(sizes.prompt && { prompt_size: sizes.prompt }),
    ...(sizes.negativePrompt && { negative_prompt_size: sizes.negativePrompt }),
  };
}

/** The lane of the second pass is that of the jobs with its size. */
function secondLane(queue: string, { width, height, steps }: NonNullable<TextToImageInput['hires']>): string {
  const group = parseGroupQueueName(queue);
  if (group?.task !== 'diffusion') return queue;
  const { aligned } = group;
  return groupQueueName({ ...group, width, height, ...(aligned && { aligned: { ...aligned, steps } }) });
}

const sampleOf = (record: JobRecord, input: TextToImageInput, index: number): DiffusionSample => ({
  id: `${record.id}.${index}.${randomUUID()}` as SampleId,
  task: 'diffusion',
  model: record.model,
  lane: record.queue,
  priority: record.priority,
  prompt: input.prompt,
  negativePrompt: input.negative_prompt,
  ...(input.prompt_syntax !== undefined && { promptSyntax: input.prompt_syntax }),
  ...(input.clip_skip !== undefined && { clipSkip: input.clip_skip }),
  width: input.width,
  height: input.height,
  steps: input.steps,
  guidance: input.guidance,
  seed: seedOfSample(input.seed, index),
  sampler: input.sampler,
  originalSize: input.original_size,
  cropsTopLeft: input.crops_coords_top_left,
  targetSize: input.target_size,
  ...(input.strength !== undefined && { strength: input.strength }),
  ...(input.denoising_start !== undefined && { denoisingStart: input.denoising_start }),
  ...(input.denoising_end !== undefined && { denoisingEnd: input.denoising_end }),
  ...(input.hires && { hires: { ...input.hires, lane: secondLane(record.queue, input.hires) } }),
  ...(input.mask_fill === 'latent_noise' && { noiseUnderMask: true }),
  maxBatchMates: Number.MAX_SAFE_INTEGER,
  // A picture that is done need not be computed again for the others.
  ...(input.n > 1 && { checkpointAtEnd: true }),
});

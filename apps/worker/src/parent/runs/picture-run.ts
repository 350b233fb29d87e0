/** An attempt of a text-to-image job: one sample per picture, each encoded and stored as soon as the engine returns it. */
import { randomUUID } from 'node:crypto';
import {
  type Clock,
  type GuidanceKind,
  groupQueueName,
  type JobMetrics,
  LehrError,
  type MediaSource,
  type Progress,
  type PromptLengths,
  parseGroupQueueName,
  passesOf,
  rowsPerSample,
  type SafetyVerdict,
  seedOfSample,
  stepsMade,
  type TextToImageInput,
  type Timings,
} from '@lehr/shared';
import type { Claim } from '@lehr/shared/queue';
import type { JobRecord, Move, StoredImage } from '@lehr/shared/records';
import { inPart } from '@lehr/shared/tracing';
import type {
  DiffusionSample,
  PromptCuts,
  PromptSizes,
  SampleId,
  TransformedMessage,
} from '../../engine/protocol/messages.ts';
import { encodeImage } from '../delivery/image-file.ts';
import type { OutputStore } from '../delivery/output-store.ts';
import { readControls } from './control-input.ts';
import { type Edit, openEdit, type ReadField } from './edit.ts';
import type { EditWork, Pixels } from './edit-work.ts';
import { JobRun, type SampleResult, type SampleRun } from './job-run.ts';
import type { FetchMedia } from './media-source.ts';
import type { PictureReader } from './picture-reader.ts';
import {
  blurredPicture,
  newCheck,
  type Safety,
  type SafetyCheck,
  type SafetyOutcome,
  verdictOf,
} from './safety.ts';
import { deviceMsOf, metricsOf, type PictureTimes, timingsOf } from './timeline.ts';

interface Picture {
  readonly image: StoredImage;
  readonly times: PictureTimes;
  readonly batchSize: number;
  readonly cuts: PromptCuts;
  readonly sizes: PromptSizes;
  /** How long its check took. */
  readonly checkMs: number;
}

type Finished = Extract<SampleResult, { type: 'finished' }>;

/** A drawn picture that is being checked. */
interface CheckedPicture extends SafetyCheck {
  readonly index: number;
  readonly drawn: Finished;
  /** On this process's monotonic clock. */
  readonly since: number;
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
  readonly pictures: Pick<PictureReader, 'read'> & { readonly work: EditWork };
  readonly clock: Clock;
  /** How its model takes the guidance scale. */
  readonly guidance: GuidanceKind;
  /** Reads the checkpoints of a job, by the index of the picture. */
  readonly readCheckpoints: (record: JobRecord) => Promise<ReadonlyMap<number, Uint8Array>>;
  /** Absent: its pictures are not checked. */
  readonly safety?: Safety | undefined;
  /** The models that jobs of its model need, too. */
  readonly companions: readonly string[];
}

export class PictureRun extends JobRun {
  readonly #pictureSamples: readonly PictureSample[];
  readonly #safety: Safety | undefined;
  readonly #companions: readonly string[];
  #checks: readonly CheckedPicture[] = [];
  /** What became of the pictures that were checked. */
  readonly outcomes: SafetyOutcome[] = [];
  readonly #input: TextToImageInput;
  readonly #outputs: OutputStore;
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
    this.#outputs = parts.store;
    this.#clock = parts.clock;
    this.#fetchMedia = parts.fetchMedia;
    this.#pictures = parts.pictures;
    this.#readCheckpoints = parts.readCheckpoints;
    this.#safety = parts.safety;
    this.#companions = parts.companions;
    this.#pictureSamples = Array.from({ length: input.n }, (_, index) => ({
      request: sampleOf(record, input, index),
      rows: rowsPerSample(input.guidance, parts.guidance),
      submittedAt: claimedAt,
      step: 0,
      steps: passesOf(input).reduce((sum, pass) => sum + stepsMade(pass), 0),
      inEngine: false,
    }));
  }

  /** Those of pictures come first, so that their indices stay. */
  get samples(): readonly SampleRun[] {
    return [...this.#pictureSamples, ...this.#checks];
  }

  override get models(): readonly string[] {
    return [this.record.model, ...this.#companions];
  }

  /** A preview is not checked. */
  override get hidesPreviews(): boolean {
    return this.#safety !== undefined && this.#safety.mode !== 'mark';
  }

  get firstRows(): number {
    return this.#pictureSamples.reduce((sum, { rows }) => sum + rows, 0);
  }

  override get fetchesInput(): boolean {
    return this.#input.image !== undefined || this.#input.control !== undefined;
  }

  get isDone(): boolean {
    return this.#pictureSamples.every(({ picture }) => picture);
  }

  get progress(): Progress {
    const step = this.#pictureSamples.reduce((sum, sample) => sum + sample.step, 0);
    const steps = this.#pictureSamples.reduce((sum, sample) => sum + sample.steps, 0);
    const fraction = Math.round((step / steps) * 1000) / 1000;
    return { fraction, stage: step < steps ? 'denoise' : 'decode', step, steps };
  }

  /** The pictures stored so far, with their times. */
  get pictures(): readonly Picture[] {
    return this.#pictureSamples.flatMap(({ picture }) => (picture ? [picture] : []));
  }

  async begin(): Promise<readonly SampleRun[]> {
    if (this.#input.image) {
      const { work } = this.#pictures;
      this.#edit = await openEdit(this.#input, { read: this.#readField, work });
    }
    const controls = this.#input.control && (await this.#readControls());
    for (const sample of this.#pictureSamples)
      sample.request = { ...begunAt(sample.request, this.#edit), ...(controls && { controls }) };
    const checkpoints = await this.#readCheckpoints(this.record);
    for (const [index, sample] of this.#pictureSamples.entries()) {
      const checkpoint = checkpoints.get(index);
      if (checkpoint) sample.checkpoint = checkpoint;
    }
    return this.#pictureSamples;
  }

  readonly #readField: ReadField = async (field, decode, { file, moreBytes } = {}) => {
    const source = this.#input[field];
    if (!source) throw new Error(`The job has no ${field}. This is a bug in Lehr.`);
    const fetch = async () => file ?? this.#fetchPicture(source);
    return this.#pictures.read({ field, fetch, decode, moreBytes, ...this.#reader });
  };

  /** All pictures of the job are guided by the same pixels. */
  #readControls(): Promise<DiffusionSample['controls']> {
    return readControls(
      this.#input,
      ({ image }, field, decode) =>
        this.#pictures.read({ field, fetch: () => this.#fetchPicture(image), decode, ...this.#reader }),
      this.#pictures.work,
    );
  }

  #fetchPicture(source: MediaSource): Promise<Uint8Array> {
    return inPart(this.span, 'fetch picture', () => this.#fetchMedia('picture', source, this.signal));
  }

  get #reader() {
    const { record, signal } = this;
    return { owner: record.tenant, priority: record.priority, signal };
  }

  async addResult(sample: SampleRun, result: SampleResult): Promise<readonly SampleRun[]> {
    if (result.type === 'transformed') return this.#checked(sample, result);
    if (result.type !== 'finished')
      throw new Error(`A picture ended as ${result.type}. This is a bug in Lehr.`);
    const index = this.#pictureSamples.indexOf(sample as PictureSample);
    if (!this.#safety) {
      await this.#store(index, result, 0);
      return [];
    }
    const since = this.#clock.monotonic();
    const whole = await this.#whole(pixelsOf(result), async (pixels) => pixels);
    const check = { ...(await newCheck(this.record, this.#safety, whole)), index, drawn: result, since };
    this.#checks = [...this.#checks, check];
    return [check];
  }

  async #checked(sample: SampleRun, result: TransformedMessage): Promise<readonly SampleRun[]> {
    const check = this.#checks.find((each) => each === sample);
    const safety = this.#safety;
    if (!check || !safety) throw new Error('A check ended that was not begun. This is a bug in Lehr.');
    this.#checks = this.#checks.filter((each) => each !== check);
    const verdict = verdictOf(result, safety);
    const { label, score, flagged } = verdict;
    this.outcomes.push(flagged ? OUTCOMES[safety.mode] : 'safe');
    if (flagged && safety.mode === 'refuse') {
      const message = `The picture was found unsafe (${label}, ${score.toFixed(2)}) and is not given out.`;
      throw new LehrError('unsafe-picture', message);
    }
    await this.#store(check.index, check.drawn, this.#clock.monotonic() - check.since, verdict);
    return [];
  }

  async #store(index: number, drawn: Finished, checkMs: number, safety?: SafetyVerdict): Promise<void> {
    const { request, submittedAt } = this.#pictureSamples[index];
    const { batchSize, cuts, sizes, timings } = drawn;
    const isBlurred = safety?.flagged && this.#safety?.mode === 'blur';
    const { file, width, height } = await inPart(this.span, 'encode file', () =>
      this.#whole(pixelsOf(drawn), async (pixels) => {
        const shown = isBlurred ? await blurredPicture(pixels) : pixels;
        const embedded = { ...this.#embedded(request), ...(isBlurred && { blurred: true }) };
        return { file: await encodeImage(shown, this.#input.output_format, embedded), ...shown };
      }),
    );
    const encodedAt = this.#clock.monotonic();
    const key = this.outputKey(`${index}.${file.extension}`);
    // The latent is the picture as it was drawn.
    const latent = isBlurred ? undefined : drawn.latent;
    const latentKey = latent && this.outputKey(`${index}.safetensors`);
    const { contentType, bytes, sha256 } = await inPart(this.span, 'upload', async () => {
      if (latent && latentKey) await this.#outputs.put(this, latentKey, latent, 'application/octet-stream');
      return this.#outputs.put(this, key, file.bytes, file.contentType);
    });
    const uploadedAt = this.#clock.monotonic();
    this.#pictureSamples[index].picture = {
      image: {
        key,
        content_type: contentType,
        width,
        height,
        bytes,
        sha256,
        seed: request.seed,
        ...(latentKey && { latent: latentKey }),
        ...(safety && { safety }),
      },
      times: { submittedAt, engine: timings, encodedAt, uploadedAt },
      batchSize,
      cuts,
      sizes,
      checkMs,
    };
  }

  /** A drawn picture with what an edit keeps. */
  #whole<Result>(drawn: Pixels, use: (pixels: Pixels) => Promise<Result>): Promise<Result> {
    return this.#edit ? this.#edit.finish(drawn, use) : use(drawn);
  }

  /** What the file says of its making. */
  #embedded({ seed, steps, sampler, guidance, mask, prompt, negativePrompt }: DiffusionSample) {
    const { strength, denoising_start, denoising_end, hires, prompt_syntax, clip_skip } = this.#input;
    const { mask_invert, mask_blur, mask_fill, only_masked, expand } = this.#input;
    const { original_size, crops_coords_top_left, target_size, adapters } = this.#input;
    const control = this.#input.control?.map(({ image: _, ...each }) => each);
    const { id: job, model } = this.record;
    return {
      ...{ job, model, seed, steps, sampler, guidance },
      ...{ strength, denoising_start, denoising_end, hires, prompt_syntax, clip_skip },
      ...{ original_size, crops_coords_top_left, target_size, adapters },
      ...(control && { control }),
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
    const deviceMs = deviceMsOf(pictures.map(({ times }) => times));
    const batchSize = pictures.reduce((sum, picture) => sum + picture.batchSize, 0) / pictures.length;
    const metrics: JobMetrics = {
      ...metricsOf(timings, batchSize, worker),
      ...(deviceMs !== undefined && { device_ms: deviceMs }),
    };
    return { output: { images: pictures.map(({ image }) => image), ...lengthFields(pictures) }, metrics };
  }
}

const OUTCOMES = { mark: 'marked', blur: 'blurred', refuse: 'refused' } as const;

const pixelsOf = ({ pixels: data, width, height }: Finished): Pixels => ({ data, width, height });

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

/** With the picture that it begins at. */
function begunAt({ hires, ...request }: DiffusionSample, edit: Edit | undefined): DiffusionSample {
  const second = hires && { ...hires, ...(edit?.second && { kept: edit.second }) };
  return { ...request, ...(second && { hires: second }), ...edit?.start };
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
  ...(input.adapters && { adapters: input.adapters }),
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

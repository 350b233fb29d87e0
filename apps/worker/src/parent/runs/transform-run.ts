/** An attempt of a picture-transform job: its picture goes to the engine as one sample, and comes back larger, as a mask, or as labels. */
import { randomUUID } from 'node:crypto';
import {
  type Clock,
  DEFAULT_LABELS,
  type ImageFormat,
  type JobMetrics,
  type PictureTransformInput,
  type Progress,
  rowsOfTransform,
  scaledSize,
  sizeProblem,
  type TransformModelEntry,
  type TransformTimings,
} from '@lehr/shared';
import type { Claim } from '@lehr/shared/queue';
import type { JobOutput, JobRecord, Move } from '@lehr/shared/records';
import { inPart } from '@lehr/shared/tracing';
import type {
  SampleId,
  TransformAbilities,
  TransformedMessage,
  TransformResult,
  TransformSample,
} from '../../engine/protocol/messages.ts';
import { encodeImage, type Pixels } from '../delivery/image-file.ts';
import type { OutputStore } from '../delivery/output-store.ts';
import { JobRun, type SampleResult, type SampleRun } from './job-run.ts';
import type { FetchMedia } from './media-source.ts';
import { type PictureInfo, readPicture, refusedPicture, stretched } from './picture-input.ts';
import type { PictureReader } from './picture-reader.ts';
import type { CostOfRows } from './text-run.ts';
import { metricsOf, partsOf, roundedMs } from './timeline.ts';

export interface TransformParts {
  readonly store: Pick<OutputStore, 'put'>;
  readonly fetchMedia: FetchMedia;
  /** Shared by all runs of the worker. */
  readonly pictures: Pick<PictureReader, 'read'>;
  readonly clock: Clock;
  readonly costOf: CostOfRows;
  readonly entry: TransformModelEntry;
  readonly abilities: TransformAbilities;
}

interface TransformRunSample extends SampleRun {
  readonly request: TransformSample;
}

export class TransformRun extends JobRun {
  readonly #input: PictureTransformInput;
  readonly #parts: TransformParts;
  #sample: TransformRunSample | undefined;
  #result: TransformedMessage | undefined;
  #output: JobOutput | undefined;
  /** On this process's monotonic clock. */
  #marks = { fetched: 0, encoded: 0, uploaded: 0 };

  constructor(
    claim: Claim,
    record: JobRecord,
    claimedAt: number,
    input: PictureTransformInput,
    parts: TransformParts,
  ) {
    super(claim, record, claimedAt);
    this.#input = input;
    this.#parts = parts;
  }

  get samples(): readonly SampleRun[] {
    return this.#sample ? [this.#sample] : [];
  }

  get firstRows(): number {
    return 1;
  }

  override get fetchesInput(): boolean {
    return true;
  }

  get isDone(): boolean {
    return this.#output !== undefined;
  }

  /** Of its tiles. */
  get progress(): Progress {
    const { step = 0, steps = 1 } = this.#sample ?? {};
    const done = this.#result ? steps : Math.min(step, steps);
    return { fraction: Math.round((done / steps) * 1000) / 1000, stage: 'transform', step: done, steps };
  }

  async begin(): Promise<readonly SampleRun[]> {
    const { record, signal } = this;
    const { abilities, clock, fetchMedia, pictures } = this.#parts;
    const { pixels, width, height } = await pictures.read({
      field: 'image',
      fetch: () => inPart(this.span, 'fetch picture', () => fetchMedia('picture', this.#input.image, signal)),
      decode: (file, info) => this.#decode(file, info),
      owner: record.tenant,
      priority: record.priority,
      signal,
    });
    this.#marks.fetched = clock.monotonic();
    const rows = rowsOfTransform(abilities.result, { width, height }, abilities.tile);
    this.#sample = {
      request: {
        id: `${record.id}.${randomUUID()}` as SampleId,
        task: 'transform',
        model: record.model,
        lane: record.queue,
        priority: record.priority,
        maxBatchMates: Number.MAX_SAFE_INTEGER,
        pixels,
        width,
        height,
        topK: this.#input.top_k ?? DEFAULT_LABELS,
      },
      rows,
      steps: rows,
      submittedAt: 0,
      step: 0,
      inEngine: false,
    };
    return [this.#sample];
  }

  async #decode(file: Uint8Array, { width, height, isLatent }: PictureInfo) {
    const { entry, abilities } = this.#parts;
    if (isLatent) throw refusedPicture('image', 'is a latent; it must be a picture');
    const problem = sizeProblem(
      { width, height },
      Math.max(this.#scale, abilities.scale),
      entry.limits.max_pixels,
    );
    if (problem !== undefined) throw refusedPicture('image', problem);
    return { pixels: await readPicture(file, { width, height }), width, height };
  }

  /** Of the result, in sides of the picture. */
  get #scale(): number {
    return this.#input.scale ?? this.#parts.abilities.scale;
  }

  async addResult(_sample: SampleRun, result: SampleResult): Promise<readonly SampleRun[]> {
    if (result.type !== 'transformed' || !this.#sample)
      throw new Error(`A picture to transform ended as ${result.type}. This is a bug in Lehr.`);
    this.#result = result;
    this.realCostMs = this.#parts.costOf(this.record.queue, result.tiles);
    // Labels have no file.
    this.#marks.encoded = this.#sample.submittedAt + result.timings.endedAt;
    this.#marks.uploaded = this.#marks.encoded;
    this.#output = await this.#store(result.result, this.#sample.request);
    return [];
  }

  async #store(result: TransformResult, sent: TransformSample): Promise<JobOutput> {
    const { clock, store } = this.#parts;
    if (result.kind === 'class') return { images: [], labels: [...result.labels] };
    const format = this.#input.output_format ?? 'png';
    const { pixels, file } = await inPart(this.span, 'encode file', () =>
      this.#encoded(result, sent, format),
    );
    this.#marks.encoded = clock.monotonic();
    const key = this.outputKey(`0.${file.extension}`);
    const { contentType, bytes, sha256 } = await inPart(this.span, 'upload', () =>
      store.put(this, key, file.bytes, file.contentType),
    );
    this.#marks.uploaded = clock.monotonic();
    const { width, height } = pixels;
    return { images: [{ key, content_type: contentType, width, height, bytes, sha256 }] };
  }

  async #encoded(
    result: Exclude<TransformResult, { kind: 'class' }>,
    sent: TransformSample,
    format: ImageFormat,
  ) {
    const { id: job, model } = this.record;
    const { output } = this.#input;
    const pixels =
      result.kind === 'picture' ? await this.#resized(result, sent) : maskPixels(result, sent, output);
    const scale = result.kind === 'picture' ? this.#scale : undefined;
    return { pixels, file: await encodeImage(pixels, format, { job, model, scale, output }) };
  }

  /** Another scale than the model's is reached by Lanczos. */
  async #resized(
    { pixels, width, height }: Extract<TransformResult, { kind: 'picture' }>,
    sent: TransformSample,
  ): Promise<Pixels> {
    const size = scaledSize(sent, this.#scale);
    if (size.width === width && size.height === height) return { data: pixels, width, height };
    return { data: await stretched(pixels, { width, height }, size, 3), ...size };
  }

  /** From the claim to the stored result. */
  get runMs(): number {
    return Math.max(0, this.#marks.uploaded - this.claimedAt);
  }

  /** Of its tiles in the engine, once the job is done. */
  get engineMs(): number {
    return this.#timings().run;
  }

  /** How long its file took, once the job is done; undefined of labels. */
  get file(): { readonly encodeMs: number; readonly uploadMs: number } | undefined {
    if (!this.#output || this.#output.labels) return undefined;
    const { encode: encodeMs, upload: uploadMs } = this.#timings();
    return { encodeMs, uploadMs };
  }

  successFields(worker: string): Move['fields'] {
    const timings = this.#timings();
    const metrics: JobMetrics = {
      ...metricsOf(timings, this.#result?.batchSize ?? 0, worker),
      device_ms: roundedMs(this.#result?.timings.deviceMs ?? 0),
    };
    return { output: this.#output ?? { images: [] }, metrics };
  }

  /** Consecutive parts on one clock, in whole ms. */
  #timings(): TransformTimings {
    const submittedAt = this.#sample?.submittedAt ?? this.claimedAt;
    const { startedAt = 0, endedAt = 0 } = this.#result?.timings ?? {};
    const { fetched, encoded, uploaded } = this.#marks;
    const [fetch, wait, run, encode, upload] = partsOf(this.claimedAt, [
      fetched,
      submittedAt + startedAt,
      submittedAt + endedAt,
      encoded,
      uploaded,
    ]);
    return { queued: Math.max(0, Math.round(this.queuedMs)), fetch, wait, run, encode, upload };
  }
}

const COLOURS = 3;
const COLOURS_AND_ALPHA = 4;

/** A mask in grey, or the picture with the mask as its alpha. */
function maskPixels(
  { values, width, height }: Extract<TransformResult, { kind: 'mask' }>,
  { pixels }: TransformSample,
  output: PictureTransformInput['output'],
): Pixels {
  if (output !== 'cutout') return { data: values, width, height, channels: 1 };
  const data = new Uint8Array(values.length * COLOURS_AND_ALPHA);
  for (let i = 0; i < values.length; i++) {
    const at = i * COLOURS_AND_ALPHA;
    for (let colour = 0; colour < COLOURS; colour++) data[at + colour] = pixels[i * COLOURS + colour];
    data[at + COLOURS] = values[i];
  }
  return { data, width, height, channels: 4 };
}

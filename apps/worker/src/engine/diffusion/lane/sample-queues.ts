/** The work of samples outside of their lanes: the pictures and prompts they begin at, and the pixels of their final latents. */
import { type Clock, toPlainError } from '@lehr/shared';
import type { TurnTaker } from '../../lanes/turns.ts';
import type { DiffusionSample, FromEngine, SampleId } from '../../protocol/messages.ts';
import type { PromptEmbedding } from '../conditioning.ts';
import type { PromptText } from '../text-encoder.ts';
import type { Vae } from '../vae.ts';
import type { VaeEncoder } from '../vae-encoder.ts';
import type { LaneSample } from './lane-sample.ts';

interface QueueOptions {
  readonly clock: Clock;
  readonly post: (message: FromEngine) => void;
}

/** Samples that wait, in the order of their arrival. */
abstract class SampleQueue<Options extends QueueOptions> implements TurnTaker {
  protected readonly options: Options;
  protected waiting: LaneSample[] = [];

  constructor(options: Options) {
    this.options = options;
  }

  get hasWork(): boolean {
    return this.waiting.length > 0;
  }

  submit(sample: LaneSample): void {
    this.waiting.push(sample);
  }

  find(id: SampleId): LaneSample | undefined {
    return this.waiting.find(({ request }) => request.id === id);
  }

  /** Removes a sample, of which nothing more is posted; returns false when there is no such sample, as after a cancel during a run. */
  cancel(id: SampleId): boolean {
    const before = this.waiting.length;
    this.waiting = this.waiting.filter(({ request }) => request.id !== id);
    return this.waiting.length < before;
  }

  /** Never rejects: what cannot run is a failure of its sample. */
  abstract takeTurn(): Promise<void>;

  protected announce(samples: readonly LaneSample[]): void {
    this.options.post({ type: 'running', samples: samples.map(({ request }) => request.id) });
  }

  protected fail({ request }: LaneSample, error: unknown): void {
    if (!this.cancel(request.id)) return;
    this.options.post({ type: 'failed', sample: request.id, failure: toPlainError(error, 'engine-failed') });
  }
}

interface EncodeQueueOptions extends QueueOptions {
  readonly encoderOf: (request: DiffusionSample) => VaeEncoder;
  readonly onEncoded: (sample: LaneSample) => void;
}

/** Encodes the pictures that samples begin at, one picture per turn, before their prompts. */
export class EncodeQueue extends SampleQueue<EncodeQueueOptions> {
  override async takeTurn(): Promise<void> {
    const { clock, encoderOf, onEncoded } = this.options;
    const [sample] = this.waiting;
    const { request } = sample;
    this.announce([sample]);
    const begunAt = clock.monotonic();
    try {
      const picture = await sample.denoising.encodeStart(encoderOf(request));
      if (!this.cancel(request.id)) return;
      sample.denoising.beginAt(picture);
      sample.deviceMs += clock.monotonic() - begunAt;
      onEncoded(sample);
    } catch (error) {
      this.fail(sample, error);
    }
  }
}

/** Limits the duration and the memory of one run. */
const MAX_SAMPLES_PER_RUN = 8;

interface PromptQueueOptions extends QueueOptions {
  readonly encode: (model: string, prompts: readonly PromptText[]) => Promise<readonly PromptEmbedding[]>;
  readonly onEncoded: (sample: LaneSample) => void;
}

/** Encodes the prompts of new samples, several samples in one run, before they join their lanes. */
export class PromptQueue extends SampleQueue<PromptQueueOptions> {
  /** When a run fails, its samples are retried one by one, and those that cannot be encoded fail. */
  override async takeTurn(): Promise<void> {
    const samples = this.#nextSamples();
    this.announce(samples);
    try {
      await this.#encode(samples);
    } catch {
      for (const sample of samples) {
        await this.#encode([sample]).catch((error: unknown) => this.fail(sample, error));
      }
    }
  }

  /** The oldest sample and those of the same model that may share a run with it. */
  #nextSamples(): LaneSample[] {
    const chosen: LaneSample[] = [];
    let maxBatchMates = MAX_SAMPLES_PER_RUN;
    for (const sample of this.waiting) {
      if (sample.request.model !== this.waiting[0].request.model) continue;
      // The limit of a sample that was in a crashed batch holds for the text encoder too.
      const allowed = Math.min(maxBatchMates, sample.maxBatchMates);
      if (chosen.length >= allowed) continue;
      chosen.push(sample);
      maxBatchMates = allowed;
    }
    return chosen;
  }

  async #encode(samples: readonly LaneSample[]): Promise<void> {
    const { clock, encode, onEncoded } = this.options;
    const startedAt = clock.monotonic();
    const prompts = samples.flatMap((sample) => sample.prompt.texts);
    const embeddings = await encode(samples[0].request.model, prompts);
    const textMs = clock.monotonic() - startedAt;
    let at = 0;
    for (const sample of samples) {
      const own = embeddings.slice(at, at + sample.prompt.texts.length);
      at += own.length;
      if (!this.cancel(sample.request.id)) continue;
      sample.prompt.setEmbeddings(own);
      sample.textMs = textMs;
      sample.deviceMs += (textMs * own.length) / prompts.length;
      onEncoded(sample);
    }
  }
}

/** When this many latents wait, lanes stop announcing free rows early: the queue must not grow without limit. */
const CONGESTED_AT = 8;

interface DecodeQueueOptions extends QueueOptions {
  readonly vaeOf: (model: string) => Vae;
  /** A picture is decoded that is not its sample's result, but what its second pass begins at. */
  readonly onFirstPass: (sample: LaneSample, pixels: Uint8Array) => void;
}

/** When this many latents wait, decoding does not keep up with a lane that makes a step between two turns. */
const BEHIND_AT = 3;

/** Decodes final latents to pixels, one picture or a piece of one per turn, so that many finished pictures do not stall the lanes. */
export class DecodeQueue extends SampleQueue<DecodeQueueOptions> {
  /** The picture between two of its pieces. */
  #begun: { readonly sample: LaneSample; readonly run: AsyncGenerator<void, Uint8Array> } | undefined;

  get letsOthersPass(): boolean {
    return this.waiting.length < BEHIND_AT;
  }

  get isCongested(): boolean {
    return this.waiting.length >= CONGESTED_AT;
  }

  override cancel(id: SampleId): boolean {
    // What its last piece has made is large.
    if (this.#begun?.sample.request.id === id) this.#begun = undefined;
    return super.cancel(id);
  }

  override async takeTurn(): Promise<void> {
    const { clock, vaeOf, onFirstPass } = this.options;
    const [sample] = this.waiting;
    const { id, width, height, model } = sample.request;
    this.announce([sample]);
    const begunAt = clock.monotonic();
    try {
      if (this.#begun?.sample !== sample) {
        const run = vaeOf(model).decodeInPieces(sample.denoising.latent, { width, height });
        this.#begun = { sample, run };
      }
      const { done, value: pixels } = await this.#begun.run.next();
      const decodedAt = clock.monotonic();
      sample.decodeMs += decodedAt - begunAt;
      if (!done || !this.cancel(id)) return;
      if (sample.request.hires) onFirstPass(sample, pixels);
      else this.#finish(sample, pixels, decodedAt);
    } catch (error) {
      this.fail(sample, error);
    }
  }

  #finish(sample: LaneSample, pixels: Uint8Array, decodedAt: number): void {
    const { request, arrivedAt, textMs, startedAt, denoisedAt, decodeMs, batchSize, isResumed } = sample;
    const { id, width, height, denoisingEnd } = request;
    const timings = {
      textMs,
      startedAt: startedAt - arrivedAt,
      denoisedAt: denoisedAt - arrivedAt,
      decodedAt: decodedAt - arrivedAt,
      decodeMs,
      ...(!isResumed && { deviceMs: sample.deviceMs + decodeMs }),
    };
    const latent = denoisingEnd === undefined ? undefined : sample.denoising.toFile();
    const { cuts, sizes } = sample.prompt;
    this.options.post({
      type: 'finished',
      sample: id,
      pixels,
      width,
      height,
      ...(latent && { latent }),
      batchSize,
      cuts,
      sizes,
      timings,
    });
  }
}

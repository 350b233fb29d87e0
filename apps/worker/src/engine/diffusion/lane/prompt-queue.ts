/** Encodes the prompts of new samples, several samples in one run, before they join their lanes. */
import { type Clock, toPlainError } from '@lehr/shared';
import type { TurnTaker } from '../../lanes/turns.ts';
import type { FromEngine, SampleId } from '../../protocol/messages.ts';
import type { PromptEncoder } from '../text-encoder.ts';
import type { LaneSample } from './lane-sample.ts';

export interface PromptQueueOptions {
  readonly clock: Clock;
  readonly post: (message: FromEngine) => void;
  readonly encoderOf: (model: string) => PromptEncoder;
  readonly onEncoded: (sample: LaneSample) => void;
}

/** Limits the duration and the memory of one run. */
const MAX_SAMPLES_PER_RUN = 8;

export class PromptQueue implements TurnTaker {
  readonly #options: PromptQueueOptions;
  #waiting: LaneSample[] = [];

  constructor(options: PromptQueueOptions) {
    this.#options = options;
  }

  get hasWork(): boolean {
    return this.#waiting.length > 0;
  }

  submit(sample: LaneSample): void {
    this.#waiting.push(sample);
  }

  /** Removes a sample; returns false when there is no such sample. */
  cancel(id: SampleId): boolean {
    const before = this.#waiting.length;
    this.#waiting = this.#waiting.filter(({ request }) => request.id !== id);
    return this.#waiting.length < before;
  }

  /** Never rejects: when a run fails, its samples are retried one by one, and those that cannot be encoded fail. */
  async takeTurn(): Promise<void> {
    const samples = this.#nextSamples();
    this.#options.post({ type: 'running', samples: samples.map(({ request }) => request.id) });
    try {
      await this.#encode(samples);
    } catch {
      for (const sample of samples) {
        await this.#encode([sample]).catch((error: unknown) => this.#fail(sample, error));
      }
    }
  }

  /** The oldest sample and those of the same model that may share a run with it. */
  #nextSamples(): LaneSample[] {
    const chosen: LaneSample[] = [];
    let maxBatchMates = MAX_SAMPLES_PER_RUN;
    for (const sample of this.#waiting) {
      if (sample.request.model !== this.#waiting[0].request.model) continue;
      // The limit of a sample that was in a crashed batch holds for the text encoder too.
      const allowed = Math.min(maxBatchMates, sample.maxBatchMates);
      if (chosen.length >= allowed) continue;
      chosen.push(sample);
      maxBatchMates = allowed;
    }
    return chosen;
  }

  async #encode(samples: readonly LaneSample[]): Promise<void> {
    const { clock, encoderOf, onEncoded } = this.#options;
    const startedAt = clock.monotonic();
    const prompts = samples.flatMap((sample) => sample.prompts);
    const embeddings = await encoderOf(samples[0].request.model).encode(prompts);
    const textMs = clock.monotonic() - startedAt;
    let at = 0;
    for (const sample of samples) {
      const own = embeddings.slice(at, at + sample.prompts.length);
      at += own.length;
      // A cancel may have arrived during the run.
      if (!this.cancel(sample.request.id)) continue;
      sample.setEmbeddings(own);
      sample.textMs = textMs;
      sample.deviceMs += (textMs * own.length) / prompts.length;
      onEncoded(sample);
    }
  }

  #fail({ request }: LaneSample, error: unknown): void {
    if (!this.cancel(request.id)) return;
    this.#options.post({ type: 'failed', sample: request.id, failure: toPlainError(error, 'engine-failed') });
  }
}

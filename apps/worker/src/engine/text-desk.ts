/** Encodes the prompts of new samples, everybody's who waits in one run, before they join their lanes. */
import { type Clock, toPlainError } from '@lehr/shared';
import type { DiffusionModel } from '../models/diffusion/diffusion-folder.ts';
import type { PromptEmbeddings, SampleMarks } from './lane-sample.ts';
import type { DiffusionSample, FromEngine, SampleId } from './protocol.ts';
import type { Station } from './turns.ts';

export interface TextDeskOptions {
  readonly clock: Clock;
  readonly post: (message: FromEngine) => void;
  readonly onEncoded: (request: DiffusionSample, embeddings: PromptEmbeddings, marks: SampleMarks) => void;
}

interface Arrival {
  readonly request: DiffusionSample;
  readonly model: DiffusionModel;
  readonly arrivedAt: number;
}

/** Samples whose prompts go into one run: bounds the run's length and memory. */
const MAX_SAMPLES_PER_TURN = 8;

export class TextDesk implements Station {
  readonly #options: TextDeskOptions;
  #arrivals: Arrival[] = [];

  constructor(options: TextDeskOptions) {
    this.#options = options;
  }

  get hasWork(): boolean {
    return this.#arrivals.length > 0;
  }

  submit(request: DiffusionSample, model: DiffusionModel): void {
    this.#arrivals.push({ request, model, arrivedAt: this.#options.clock.monotonic() });
  }

  cancel(id: SampleId): boolean {
    const before = this.#arrivals.length;
    this.#arrivals = this.#arrivals.filter(({ request }) => request.id !== id);
    return this.#arrivals.length < before;
  }

  /** Never rejects: when a run fails its samples are tried one by one, and the one that cannot be encoded fails. */
  async turn(): Promise<void> {
    const together = this.#nextTogether();
    this.#options.post({ type: 'running', samples: together.map(({ request }) => request.id) });
    try {
      await this.#encode(together);
    } catch {
      for (const arrival of together) {
        await this.#encode([arrival]).catch((error: unknown) => this.#fail(arrival, error));
      }
    }
  }

  /** The oldest arrival and those of its model that may share a run with it. */
  #nextTogether(): Arrival[] {
    const together: Arrival[] = [];
    let maxBatchMates = MAX_SAMPLES_PER_TURN;
    for (const arrival of this.#arrivals) {
      if (arrival.model !== this.#arrivals[0].model) continue;
      // The limit of a sample that was in a crashed batch holds for the text encoder too.
      const allowed = Math.min(maxBatchMates, arrival.request.maxBatchMates);
      if (together.length >= allowed) continue;
      together.push(arrival);
      maxBatchMates = allowed;
    }
    return together;
  }

  async #encode(arrivals: readonly Arrival[]): Promise<void> {
    const { clock, onEncoded } = this.#options;
    const startedAt = clock.monotonic();
    const prompts = arrivals.flatMap(({ request }) =>
      request.guidance > 1 ? [request.prompt, request.negativePrompt] : [request.prompt],
    );
    const embeddings = await arrivals[0].model.textEncoder.encode(prompts);
    const textMs = clock.monotonic() - startedAt;
    let at = 0;
    for (const arrival of arrivals) {
      const { request, arrivedAt } = arrival;
      const prompt = embeddings[at++];
      const negative = request.guidance > 1 ? embeddings[at++] : undefined;
      // A cancel may have come while the encoder ran.
      if (!this.cancel(request.id)) continue;
      try {
        onEncoded(request, { prompt, negative }, { arrivedAt, textMs, startedAt: 0, denoisedAt: 0 });
      } catch (error) {
        this.#report(request, error);
      }
    }
  }

  #fail({ request }: Arrival, error: unknown): void {
    if (this.cancel(request.id)) this.#report(request, error);
  }

  #report(request: DiffusionSample, error: unknown): void {
    this.#options.post({ type: 'failed', sample: request.id, failure: toPlainError(error, 'engine-failed') });
  }
}

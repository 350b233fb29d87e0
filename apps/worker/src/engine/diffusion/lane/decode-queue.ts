/** Decodes final latents to pixels, one picture per turn, so that many finished pictures do not stall the lanes. */
import { type Clock, toPlainError } from '@lehr/shared';
import type { TurnTaker } from '../../lanes/turns.ts';
import type { FromEngine, SampleId } from '../../protocol/messages.ts';
import type { Vae } from '../vae.ts';
import type { LaneSample } from './lane-sample.ts';

export interface DecodeQueueOptions {
  readonly clock: Clock;
  readonly post: (message: FromEngine) => void;
  readonly vaeOf: (model: string) => Vae;
}

/** When this many latents wait, lanes stop announcing free rows early: the queue must not grow without limit. */
const CONGESTED_AT = 8;

export class DecodeQueue implements TurnTaker {
  readonly #options: DecodeQueueOptions;
  #waiting: LaneSample[] = [];

  constructor(options: DecodeQueueOptions) {
    this.#options = options;
  }

  get hasWork(): boolean {
    return this.#waiting.length > 0;
  }

  get isCongested(): boolean {
    return this.#waiting.length >= CONGESTED_AT;
  }

  submit(sample: LaneSample): void {
    this.#waiting.push(sample);
  }

  find(id: SampleId): LaneSample | undefined {
    return this.#waiting.find(({ request }) => request.id === id);
  }

  /** Removes a sample, whose picture is then not posted; returns false when there is no such sample. */
  cancel(id: SampleId): boolean {
    const before = this.#waiting.length;
    this.#waiting = this.#waiting.filter(({ request }) => request.id !== id);
    return this.#waiting.length < before;
  }

  /** Never rejects: a picture that cannot be decoded is a failure of its sample. */
  async takeTurn(): Promise<void> {
    const { clock, post, vaeOf } = this.#options;
    const [sample] = this.#waiting;
    const { id, width, height, model } = sample.request;
    post({ type: 'running', samples: [id] });
    const begunAt = clock.monotonic();
    try {
      const pixels = await vaeOf(model).decode(sample.latent, { width, height });
      // A cancel may have arrived during the run.
      if (!this.cancel(id)) return;
      const { arrivedAt, textMs, startedAt, denoisedAt, batchSize, cuts } = sample;
      const decodedAt = clock.monotonic();
      const timings = {
        textMs,
        startedAt: startedAt - arrivedAt,
        denoisedAt: denoisedAt - arrivedAt,
        decodedAt: decodedAt - arrivedAt,
        ...(!sample.isResumed && { deviceMs: sample.deviceMs + decodedAt - begunAt }),
      };
      post({ type: 'finished', sample: id, pixels, width, height, batchSize, cuts, timings });
    } catch (error) {
      if (!this.cancel(id)) return;
      post({ type: 'failed', sample: id, failure: toPlainError(error, 'engine-failed') });
    }
  }
}

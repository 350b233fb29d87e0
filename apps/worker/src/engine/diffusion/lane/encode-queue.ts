/** Encodes the pictures that samples begin at, one picture per turn, before their prompts. */
import { type Clock, toPlainError } from '@lehr/shared';
import type { TurnTaker } from '../../lanes/turns.ts';
import type { DiffusionSample, FromEngine, SampleId } from '../../protocol/messages.ts';
import type { VaeEncoder } from '../vae-encoder.ts';
import type { LaneSample } from './lane-sample.ts';

export interface EncodeQueueOptions {
  readonly clock: Clock;
  readonly post: (message: FromEngine) => void;
  readonly encoderOf: (request: DiffusionSample) => VaeEncoder;
  readonly onEncoded: (sample: LaneSample) => void;
}

export class EncodeQueue implements TurnTaker {
  readonly #options: EncodeQueueOptions;
  #waiting: LaneSample[] = [];

  constructor(options: EncodeQueueOptions) {
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

  /** Never rejects: a picture that cannot be encoded is a failure of its sample. */
  async takeTurn(): Promise<void> {
    const { clock, post, encoderOf, onEncoded } = this.#options;
    const [sample] = this.#waiting;
    const { request } = sample;
    post({ type: 'running', samples: [request.id] });
    const begunAt = clock.monotonic();
    try {
      const picture = await encoderOf(request).encode(request.image ?? new Uint8Array(), request);
      // A cancel may have arrived during the run.
      if (!this.cancel(request.id)) return;
      sample.beginAt(picture);
      sample.deviceMs += clock.monotonic() - begunAt;
      onEncoded(sample);
    } catch (error) {
      if (!this.cancel(request.id)) return;
      post({ type: 'failed', sample: request.id, failure: toPlainError(error, 'engine-failed') });
    }
  }
}

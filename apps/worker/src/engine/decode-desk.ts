/** Turns final latents into pixels, one picture a turn, so that a pile of finished pictures never stalls the lanes. */
import { type Clock, toPlainError } from '@lehr/shared';
import type { Vae } from '../diffusion/vae.ts';
import type { LaneSample } from './lane-sample.ts';
import type { DiffusionSample, FromEngine, SampleId } from './protocol.ts';
import type { Station } from './turns.ts';

export interface DecodeDeskOptions {
  readonly clock: Clock;
  readonly post: (message: FromEngine) => void;
  readonly vaeOf: (request: DiffusionSample) => Vae;
}

/** Latents that may wait before lanes stop giving their rows away early: pictures must not pile up without end. */
const CONGESTED_AT = 8;

export class DecodeDesk implements Station {
  readonly #options: DecodeDeskOptions;
  #waiting: LaneSample[] = [];

  constructor(options: DecodeDeskOptions) {
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

  cancel(id: SampleId): boolean {
    const before = this.#waiting.length;
    this.#waiting = this.#waiting.filter(({ request }) => request.id !== id);
    return this.#waiting.length < before;
  }

  /** Never rejects: a picture that cannot be decoded is that sample's failure. */
  async turn(): Promise<void> {
    const { clock, post, vaeOf } = this.#options;
    const [sample] = this.#waiting;
    const { request, marks, latent } = sample;
    post({ type: 'running', samples: [request.id] });
    try {
      const { width, height } = request;
      const pixels = await vaeOf(request).decode(latent, { width, height });
      // A cancel may have come while the decoder ran.
      if (!this.cancel(request.id)) return;
      const since = (at: number): number => at - marks.arrivedAt;
      post({
        type: 'finished',
        sample: request.id,
        pixels,
        width,
        height,
        batchSize: sample.batchSize,
        timings: {
          textMs: marks.textMs,
          startedAt: since(marks.startedAt),
          denoisedAt: since(marks.denoisedAt),
          decodedAt: since(clock.monotonic()),
        },
      });
    } catch (error) {
      if (!this.cancel(request.id)) return;
      post({ type: 'failed', sample: request.id, failure: toPlainError(error, 'engine-failed') });
    }
  }
}

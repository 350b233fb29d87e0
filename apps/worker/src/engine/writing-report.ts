/** Tells how far windows are, a few times a second: a message for each token would cost more than the token. */
import type { Clock } from '@lehr/shared';
import type { FromEngine } from './protocol.ts';
import type { WhisperWindow } from './whisper-window.ts';

const EVERY_MS = 200;

export class WritingReport {
  readonly #lane: string;
  readonly #clock: Clock;
  readonly #post: (message: FromEngine) => void;
  #calls = 0;
  #tokens = 0;
  #ms = 0;
  #postedAt = 0;

  constructor(lane: string, clock: Clock, post: (message: FromEngine) => void) {
    this.#lane = lane;
    this.#clock = clock;
    this.#post = post;
  }

  /** These windows took part in a decoder call, which took so long. */
  called(windows: readonly WhisperWindow[], ms: number): void {
    this.#calls += 1;
    this.#tokens += windows.length;
    this.#ms += ms;
    const now = this.#clock.monotonic();
    const someoneEnded = windows.some(({ hasEnded }) => hasEnded);
    if (now - this.#postedAt < EVERY_MS && !someoneEnded) return;
    const samples = windows.map(({ request, tokens }) => ({ id: request.id, tokens }));
    this.#post({
      type: 'decoder-progress',
      lane: this.#lane,
      calls: this.#calls,
      tokens: this.#tokens,
      ms: this.#ms,
      samples,
    });
    this.#calls = 0;
    this.#tokens = 0;
    this.#ms = 0;
    this.#postedAt = now;
  }
}

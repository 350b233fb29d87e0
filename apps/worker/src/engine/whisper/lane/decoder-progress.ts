/** Posts how far windows are, a few times per second: a message for every token would cost more than the token. */
import type { Clock } from '@lehr/shared';
import type { FromEngine } from '../../protocol/messages.ts';
import type { WhisperWindow } from './whisper-window.ts';

const INTERVAL_MS = 200;

export class DecoderProgress {
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

  /** Counts a decoder call, and posts when the interval has passed or a window has ended. */
  addCall(windows: readonly WhisperWindow[], ms: number): void {
    this.#calls += 1;
    this.#tokens += windows.length;
    this.#ms += ms;
    const now = this.#clock.monotonic();
    const hasEnded = windows.some((window) => window.text.hasEnded);
    if (now - this.#postedAt < INTERVAL_MS && !hasEnded) return;
    const samples = windows.map(({ request, text }) => ({ id: request.id, tokens: text.length }));
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

/**
 * How slowly an upload may arrive. It holds memory and one of few slots, so a caller that sends a byte per second must not keep
 * them: after a start of `graceMs`, the bytes so far must have come at `minBytesPerS` or faster.
 */
import { type Clock, LehrError } from '@lehr/shared';

export interface PaceLimits {
  readonly graceMs: number;
  readonly minBytesPerS: number;
}

/** 25 MB may take up to 4 minutes and 40 seconds, a small file half a minute: enough for a slow mobile connection. */
export const UPLOAD_PACE: PaceLimits = { graceMs: 30_000, minBytesPerS: 100_000 };

export class UploadPace {
  readonly #clock: Clock;
  readonly #limits: PaceLimits;
  readonly #startedAt: number;
  #bytes = 0;

  constructor(clock: Clock, limits: PaceLimits = UPLOAD_PACE) {
    this.#clock = clock;
    this.#limits = limits;
    this.#startedAt = clock.monotonic();
  }

  received(bytes: number): void {
    this.#bytes += bytes;
  }

  /** The next piece of the body. Rejects with `too-slow` when it does not come in time, and as `next` does. */
  async inTime<T>(next: Promise<T>): Promise<T> {
    const { graceMs, minBytesPerS } = this.#limits;
    const endsAt = this.#startedAt + graceMs + (this.#bytes / minBytesPerS) * 1000;
    const arrived = new AbortController();
    const late = this.#clock.sleep(Math.max(0, endsAt - this.#clock.monotonic()), arrived.signal).then(() => {
      if (arrived.signal.aborted) return next;
      throw new LehrError(
        'too-slow',
        `The upload is too slow: after ${graceMs / 1000} s it must average ${minBytesPerS} bytes per second.`,
      );
    });
    try {
      return await Promise.race([next, late]);
    } finally {
      arrived.abort();
    }
  }
}

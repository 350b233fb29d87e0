/**
 * Bounds the memory of JSON bodies that are on their way. A caller that sends most of a large body and then nothing keeps its bytes
 * in memory, so the bytes of all such bodies are limited, for each tenant and together, and each must keep the pace of an upload.
 */
import { type Clock, Holdings, LehrError, type TenantId } from '@lehr/shared';

const MB = 1024 * 1024;
const MAX_BYTES = 256 * MB;
const MAX_BYTES_OF_TENANT = 128 * MB;
/** From this many bytes on each tenant may send one body, so that the rest is left to other tenants. */
const CONTENDED_BYTES = 192 * MB;

export class BodyReads {
  readonly #clock: Clock;
  readonly #pace: PaceLimits | undefined;
  /** Bytes on their way, by tenant. */
  readonly #bytes = new Holdings<TenantId>();

  /** Tests shorten `pace`. */
  constructor(clock: Clock, pace?: PaceLimits) {
    this.#clock = clock;
    this.#pace = pace;
  }

  /** On their way now. */
  get bytes(): number {
    return this.#bytes.total;
  }

  /**
   * Reads a body of at most `bytes`. Rejects with `overloaded` when too many bytes are on their way, with `too-slow` when it does
   * not arrive in time, and as `read` does.
   */
  async run<T>(tenant: TenantId, bytes: number, read: () => Promise<T>): Promise<T> {
    const leave = this.#enter(tenant, bytes);
    const pace = new UploadPace(this.#clock, this.#pace);
    // What a body of this length is given in all: how its bytes spread over that time does not matter.
    pace.received(bytes);
    try {
      return await pace.inTime(read());
    } finally {
      leave();
    }
  }

  #enter(tenant: TenantId, bytes: number): () => void {
    const own = this.#bytes.of(tenant);
    const all = this.bytes;
    const mayHave = all + bytes <= CONTENDED_BYTES ? MAX_BYTES_OF_TENANT : bytes;
    if (all + bytes > MAX_BYTES || own + bytes > mayHave) {
      throw new LehrError('overloaded', 'Too many large bodies are being received.', { retryAfterS: 1 });
    }
    this.#bytes.add(tenant, bytes);
    return () => this.#bytes.add(tenant, -bytes);
  }
}

export interface PaceLimits {
  readonly graceMs: number;
  readonly minBytesPerS: number;
}

/** 25 MB may take up to 4 minutes and 40 seconds, a small file half a minute: enough for a slow mobile connection. */
export const UPLOAD_PACE: PaceLimits = { graceMs: 30_000, minBytesPerS: 100_000 };

/**
 * How slowly an upload may arrive. It holds memory and one of few slots, so a caller that sends a byte per second must not keep
 * them: after a start of `graceMs`, the bytes so far must have come at `minBytesPerS` or faster.
 */
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

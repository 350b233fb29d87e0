/**
 * Bounds the memory of JSON bodies that are on their way. A caller that sends most of a large body and then nothing keeps its bytes
 * in memory, so the bytes of all such bodies are limited, for each tenant and together, and each must keep the pace of an upload.
 */
import { type Clock, LehrError, type TenantId } from '@lehr/shared';
import { type PaceLimits, UploadPace } from './upload-pace.ts';

const MB = 1024 * 1024;
const MAX_BYTES = 256 * MB;
const MAX_BYTES_OF_TENANT = 128 * MB;
/** From this many bytes on each tenant may send one body, so that the rest is left to other tenants. */
const CONTENDED_BYTES = 192 * MB;

export class BodyReads {
  readonly #clock: Clock;
  readonly #pace: PaceLimits | undefined;
  /** Bytes on their way, by tenant. */
  readonly #bytes = new Map<TenantId, number>();

  /** Tests shorten `pace`. */
  constructor(clock: Clock, pace?: PaceLimits) {
    this.#clock = clock;
    this.#pace = pace;
  }

  /** On their way now. */
  get bytes(): number {
    return [...this.#bytes.values()].reduce((sum, each) => sum + each, 0);
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
    const own = this.#bytes.get(tenant) ?? 0;
    const all = this.bytes;
    const mayHave = all + bytes <= CONTENDED_BYTES ? MAX_BYTES_OF_TENANT : bytes;
    if (all + bytes > MAX_BYTES || own + bytes > mayHave) {
      throw new LehrError('overloaded', 'Too many large bodies are being received.', { retryAfterS: 1 });
    }
    this.#bytes.set(tenant, own + bytes);
    return () => {
      const left = (this.#bytes.get(tenant) ?? 0) - bytes;
      if (left > 0) this.#bytes.set(tenant, left);
      else this.#bytes.delete(tenant);
    };
  }
}

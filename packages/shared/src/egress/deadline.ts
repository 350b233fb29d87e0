/** One time limit over all parts of a request: finding the address, connecting, and reading the answer to its end. */
import { EgressError } from './egress-error.ts';

export class Deadline {
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout;
  readonly #outer: AbortSignal | undefined;
  readonly #abort = (): void => this.#controller.abort();
  #expired = false;

  /** `outer` ends the request early; its reason is what the caller then gets. */
  constructor(ms: number, outer?: AbortSignal) {
    this.#timer = setTimeout(() => {
      this.#expired = true;
      this.#controller.abort();
    }, ms);
    this.#outer = outer;
    if (outer?.aborted) this.#abort();
    else outer?.addEventListener('abort', this.#abort, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Call when the request is over, however it ended. */
  clear(): void {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener('abort', this.#abort);
  }

  /** Waits for what cannot be aborted, but no longer than the time that is left. */
  async race<T>(work: Promise<T>): Promise<T> {
    this.signal.throwIfAborted();
    let stop: () => void = () => {};
    const aborted = new Promise<never>((_, reject) => {
      stop = () => reject(this.signal.reason);
      this.signal.addEventListener('abort', stop, { once: true });
    });
    try {
      return await Promise.race([work, aborted]);
    } finally {
      this.signal.removeEventListener('abort', stop);
    }
  }

  /** What a failure amounts to: ours as it is, a passed deadline, the caller's own wish, or a broken connection. */
  explain(error: unknown): unknown {
    if (error instanceof EgressError) return error;
    if (this.#expired) return new EgressError('timeout', error);
    if (this.#outer?.aborted) return this.#outer.reason;
    return new EgressError('unreachable', error);
  }
}

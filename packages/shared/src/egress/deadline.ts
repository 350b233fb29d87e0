/** One time limit for a whole request: resolving the name, connecting, and reading the complete answer. */
import { EgressError } from './egress-error.ts';

export class Deadline {
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout;
  readonly #outer: AbortSignal | undefined;
  readonly #abort = (): void => this.#controller.abort();
  #expired = false;

  /** Aborting `outer` ends the request early; it then rejects with the reason of `outer`. */
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

  /** Must be called when the request is over, also after a failure. */
  clear(): void {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener('abort', this.#abort);
  }

  /** Waits for work that cannot be aborted, but no longer than the time left. */
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

  /** The error to report: an EgressError as it is, else a timeout, the caller's abort reason, or a broken connection. */
  explain(error: unknown): unknown {
    if (error instanceof EgressError) return error;
    if (this.#expired) return new EgressError('timeout', error);
    if (this.#outer?.aborted) return this.#outer.reason;
    return new EgressError('unreachable', error);
  }
}

import { LehrError } from './lehr-error.ts';

/**
 * A signal that aborts together with the caller's, or when the server sends nothing for `ms`. Its listener on the caller's signal
 * is removed at the end, because callers use one signal for many calls.
 */
export class IdleTimeout {
  readonly #controller = new AbortController();
  readonly #ms: number;
  readonly #caller: AbortSignal | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #forward = (): void => this.#controller.abort(this.#caller?.reason);

  constructor(ms: number, caller: AbortSignal | undefined) {
    this.#ms = ms;
    this.#caller = caller;
    caller?.throwIfAborted();
    caller?.addEventListener('abort', this.#forward, { once: true });
    this.restart();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Call this for every piece of data that arrives. */
  restart(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      const message = `The server sent nothing for ${this.#ms / 1000} s.`;
      this.#controller.abort(new LehrError('connection-failed', message, { retryable: true }));
    }, this.#ms);
  }

  /** Stops the timer and removes the listener on the caller's signal. */
  end(): void {
    clearTimeout(this.#timer);
    this.#caller?.removeEventListener('abort', this.#forward);
  }

  /** Ends the request that uses this signal as well. */
  abort(): void {
    this.end();
    this.#controller.abort();
  }
}

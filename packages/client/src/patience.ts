import { LehrError } from './lehr-error.ts';

/**
 * A signal that aborts with the caller's, or when nothing was heard for `ms`. Its own listener is taken off again, because
 * callers keep one signal for many calls.
 */
export class Patience {
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
    this.heard();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Something came: the time starts anew. */
  heard(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      const message = `Nothing was heard for ${this.#ms / 1000} s.`;
      this.#controller.abort(new LehrError('connection-failed', message, { retryable: true }));
    }, this.#ms);
  }

  /** Lets go of the timer and of the caller's signal; `abort` ends what still uses this one. */
  end(): void {
    clearTimeout(this.#timer);
    this.#caller?.removeEventListener('abort', this.#forward);
  }

  abort(): void {
    this.end();
    this.#controller.abort();
  }
}

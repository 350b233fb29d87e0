/** Time behind an interface, so that tests can control it. */
export interface Clock {
  /** Wall clock, ms since the epoch. */
  now(): number;
  /** Monotonic, ms; only differences mean anything. */
  monotonic(): number;
  /** Resolves after `ms`, or at once when the signal aborts (it never rejects). */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const done = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      signal?.addEventListener('abort', done, { once: true });
    }),
};

/** Without a reason, each abort makes a DOMException with its stack. */
const WOKEN = 'woken';

/** A wake-up call for one loop. A call that comes while the loop does not wait ends its next wait at once. */
export class WakeUp {
  readonly #clock: Pick<Clock, 'sleep'>;
  #isPending = false;
  #sleep: AbortController | undefined;

  constructor(clock: Pick<Clock, 'sleep'>) {
    this.#clock = clock;
  }

  wake(): void {
    this.#isPending = true;
    this.#sleep?.abort(WOKEN);
  }

  /** Resolves at the next wake-up call, or after `maxMs`. */
  async wait(maxMs: number): Promise<void> {
    if (!this.#isPending) {
      this.#sleep = new AbortController();
      await this.#clock.sleep(maxMs, this.#sleep.signal);
    }
    this.#isPending = false;
  }
}

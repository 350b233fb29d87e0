import type { Clock } from './clock.ts';

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

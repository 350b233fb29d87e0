import type { Clock } from '@lehr/shared';

/** Remembers a ring that comes while nobody waits for it. */
export class WakeUp {
  readonly #clock: Clock;
  #rung = false;
  #waiting: AbortController | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  ring(): void {
    this.#rung = true;
    this.#waiting?.abort();
  }

  /** Resolves at the next ring, or after `ms`. */
  async rung(ms: number): Promise<void> {
    if (!this.#rung) {
      this.#waiting = new AbortController();
      await this.#clock.sleep(ms, this.#waiting.signal);
    }
    this.#rung = false;
  }
}

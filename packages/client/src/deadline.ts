import type { WaitOptions } from './lehr-options.ts';

/** The hold of one answer: below the 60 s after which many proxies end a request. */
const HOLD_S = 30;

/** The end of the caller's longest wait. */
export class Deadline {
  readonly #until: number;

  constructor({ timeoutMs = Number.POSITIVE_INFINITY }: WaitOptions) {
    this.#until = performance.now() + timeoutMs;
  }

  get holdS(): number {
    return Math.min(Math.max((this.#until - performance.now()) / 1000, 0), HOLD_S);
  }

  get isOver(): boolean {
    return performance.now() >= this.#until;
  }
}

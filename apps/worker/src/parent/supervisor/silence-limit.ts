/**
 * How long a busy engine may be silent before it counts as hung. An engine reports every step, so a step that takes far longer
 * than the steps of its lane ever did hangs. Until enough steps of a lane were measured, the configured limit holds.
 */

/** Steps of a lane that are remembered, and how many of them are needed. */
const MAX_STEPS = 200;
const MIN_STEPS = 100;
/** The most lanes remembered; the lane that ran longest ago is dropped first. */
const MAX_REMEMBERED_LANES = 64;
const QUANTILE = 0.99;
const TIMES_QUANTILE = 3;
/** The measured limit is at least this part of the configured one: other graphs, such as the decoder, run between the steps. */
const MIN_SHARE = 1 / 4;
/** And at most this multiple of it. */
const MAX_MULTIPLE = 10;

export class SilenceLimit {
  readonly #configuredMs: number;
  /** The last step times of each lane, in ms. */
  readonly #steps = new Map<string, number[]>();

  constructor(configuredMs: number) {
    this.#configuredMs = configuredMs;
  }

  stepped(lane: string, ms: number): void {
    const steps = this.#steps.get(lane) ?? [];
    this.#steps.delete(lane);
    this.#steps.set(lane, steps);
    steps.push(ms);
    if (steps.length > MAX_STEPS) steps.shift();
    if (this.#steps.size > MAX_REMEMBERED_LANES)
      this.#steps.delete(this.#steps.keys().next().value as string);
  }

  /** While the engine works on a sample of this lane. */
  ms(lane: string | undefined): number {
    const steps = lane === undefined ? undefined : this.#steps.get(lane);
    if (!steps || steps.length < MIN_STEPS) return this.#configuredMs;
    const sorted = [...steps].sort((a, b) => a - b);
    const measured = TIMES_QUANTILE * sorted[Math.ceil(QUANTILE * sorted.length) - 1];
    const atLeast = this.#configuredMs * MIN_SHARE;
    return Math.min(Math.max(measured, atLeast), this.#configuredMs * MAX_MULTIPLE);
  }
}

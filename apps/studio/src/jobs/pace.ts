/** Estimates the time until a job ends from the steps that it has done. Pure. */
import type { Progress } from '@lehr/client';

/** With fewer steps done, an estimate would be a guess. */
const MIN_STEPS = 2;

export class Pace {
  #first: { readonly step: number; readonly at: number } | undefined;
  #stage: Progress['stage'] | undefined;

  /** The job went back to its queue. */
  restart(): void {
    this.#first = undefined;
    this.#stage = undefined;
  }

  /** `at` in ms. Undefined until the pace of this stage is known. */
  secondsLeft({ stage, step, steps }: Progress, at: number): number | undefined {
    if (stage !== this.#stage || !this.#first || step < this.#first.step) {
      this.#stage = stage;
      this.#first = { step, at };
    }
    const done = step - this.#first.step;
    if (done < MIN_STEPS) return undefined;
    return (((at - this.#first.at) / done) * (steps - step)) / 1000;
  }
}

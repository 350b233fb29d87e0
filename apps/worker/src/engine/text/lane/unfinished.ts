/** Answers that are being read from the outputs of runs, a few milliseconds at a time, in turns. */
import { type Clock, type LehrError, toLehrError } from '@lehr/shared';
import type { SampleTexts } from './sample-texts.ts';

/** As long as tokenizing may keep a run waiting. */
const SLICE_MS = 4;
/** Each holds the outputs of its run in memory, so with so many of them no further run is made. */
const MOST = 4;

interface Answering {
  readonly sample: SampleTexts;
  /** Returns when the answer is complete; throws what reading it throws. */
  readonly steps: Iterator<undefined, void>;
}

export class Unfinished {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #fail: (sample: SampleTexts, error: LehrError) => void;
  #answers: Answering[] = [];

  constructor(clock: Pick<Clock, 'monotonic'>, fail: (sample: SampleTexts, error: LehrError) => void) {
    this.#clock = clock;
    this.#fail = fail;
  }

  get isFull(): boolean {
    return this.#answers.length >= MOST;
  }

  add(sample: SampleTexts, steps: Iterator<undefined, void>): void {
    this.#answers.push({ sample, steps });
  }

  /** Takes steps of the answers in turns, so that a long one does not hold up the others. */
  continue(): void {
    const startedAt = this.#clock.monotonic();
    while (this.#answers.length > 0) {
      // A pass over all of them is short: they are the texts of a run or two.
      this.#answers = this.#answers.filter((each) => !each.sample.isDropped && this.#takeStep(each));
      if (this.#clock.monotonic() - startedAt >= SLICE_MS) return;
    }
  }

  /** Whether there are more steps. */
  #takeStep({ sample, steps }: Answering): boolean {
    try {
      return !steps.next().done;
    } catch (error) {
      this.#fail(sample, toLehrError(error, 'engine-failed'));
      return false;
    }
  }
}

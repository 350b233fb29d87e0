/** Posts what runs did, a few times per second: a run of a small model takes less time than a message for each would. */
import type { Clock } from '@lehr/shared';
import type { FromEngine } from '../../protocol/messages.ts';
import type { SampleTexts } from './sample-texts.ts';

const INTERVAL_MS = 200;
const NONE = { runs: 0, texts: 0, tokens: 0, padding: 0, ms: 0 };

export interface RunFigures {
  readonly texts: number;
  readonly tokens: number;
  readonly padding: number;
  readonly ms: number;
}

export class TextProgress {
  readonly #lane: string;
  readonly #clock: Clock;
  readonly #post: (message: FromEngine) => void;
  #sum = NONE;
  #postedAt = 0;

  constructor(lane: string, clock: Clock, post: (message: FromEngine) => void) {
    this.#lane = lane;
    this.#clock = clock;
    this.#post = post;
  }

  /** Counts a run. Posts when the interval has passed, or when no sample is left. */
  addRun({ texts, tokens, padding, ms }: RunFigures, samples: readonly SampleTexts[]): void {
    const sum = this.#sum;
    this.#sum = {
      runs: sum.runs + 1,
      texts: sum.texts + texts,
      tokens: sum.tokens + tokens,
      padding: sum.padding + padding,
      ms: sum.ms + ms,
    };
    const now = this.#clock.monotonic();
    if (now - this.#postedAt < INTERVAL_MS && samples.length > 0) return;
    const left = samples.map(({ request, answered }) => ({ id: request.id, answered }));
    this.#post({ type: 'text-progress', lane: this.#lane, ...this.#sum, samples: left });
    this.#sum = NONE;
    this.#postedAt = now;
  }
}

/** Sums up what the runs of a lane did, for a message a few times per second: a run of a small graph takes less time than one for each would. */
import type { Clock } from '@lehr/shared';

const INTERVAL_MS = 200;

export class RunProgress<Figure extends string> {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #post: (sum: Readonly<Record<Figure | 'runs', number>>) => void;
  #sum: Partial<Record<Figure | 'runs', number>> = {};
  #postedAt = 0;

  constructor(
    clock: Pick<Clock, 'monotonic'>,
    post: (sum: Readonly<Record<Figure | 'runs', number>>) => void,
  ) {
    this.#clock = clock;
    this.#post = post;
  }

  /** Counts a run. Posts when the interval has passed, or when the lane has no work left. */
  addRun(figures: Readonly<Record<Figure, number>>, isIdle: boolean): void {
    const run = { ...figures, runs: 1 };
    for (const name of Object.keys(run) as (Figure | 'runs')[])
      this.#sum[name] = (this.#sum[name] ?? 0) + run[name];
    const now = this.#clock.monotonic();
    if (now - this.#postedAt < INTERVAL_MS && !isIdle) return;
    this.#post(this.#sum as Record<Figure | 'runs', number>);
    this.#sum = {};
    this.#postedAt = now;
  }
}

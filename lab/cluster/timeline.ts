/** What a run looks like over time, sampled once a second. */

export interface Sample {
  /** Seconds since the begin of the record. */
  readonly t: number;
  readonly waitingJobs: number;
  readonly runningJobs: number;
  /** What `GET /v1/scale/:pool` asks for. */
  readonly desired: number;
  /** Pods of the pool that are not about to end, and how many of them are ready. */
  readonly pods: number;
  readonly readyPods: number;
  readonly processes: number;
  readonly serving: number;
  readonly nodes: number;
}

export interface Mark {
  readonly t: number;
  readonly text: string;
}

export interface Timeline {
  readonly samples: readonly Sample[];
  readonly marks: readonly Mark[];
}

const EVERY_MS = 1000;

export class TimelineRecord {
  readonly samples: Sample[] = [];
  readonly marks: Mark[] = [];
  readonly #began = performance.now();
  readonly #read: () => Promise<Omit<Sample, 't'>>;
  readonly #timer: NodeJS.Timeout;
  #isReading = false;

  constructor(read: () => Promise<Omit<Sample, 't'>>) {
    this.#read = read;
    this.#timer = setInterval(() => void this.#sample(), EVERY_MS);
  }

  get seconds(): number {
    return Math.round((performance.now() - this.#began) / 100) / 10;
  }

  mark(text: string): void {
    this.marks.push({ t: this.seconds, text });
  }

  stop(): Timeline {
    clearInterval(this.#timer);
    const { samples, marks } = this;
    return { samples, marks };
  }

  /** A second in which the API does not answer has no sample. */
  async #sample(): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    const t = this.seconds;
    await this.#read().then(
      (values) => this.samples.push({ t, ...values }),
      () => {},
    );
    this.#isReading = false;
  }
}

/** The first time from `from` at which it was so; undefined: never. */
export const firstTime = (
  { samples }: Timeline,
  isSo: (sample: Sample) => boolean,
  from = 0,
): number | undefined => samples.find((each) => each.t >= from && isSo(each))?.t;

/** Writes the progress of all running jobs in one command, at most every `everyMs`. */
import type { Clock, Log } from '@lehr/shared';
import type { Move, Outcome, RecordStore } from '@lehr/shared/records';
import type { JobRun } from '../runs/job-run.ts';

export interface ProgressOptions {
  readonly records: RecordStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly everyMs: number;
}

/** `outcome` may say that the job has ended, moved to another worker, or is to be cancelled. */
export type OnProgressWritten = (run: JobRun, outcome: Outcome) => void;

export class ProgressWriter {
  readonly #options: ProgressOptions;
  readonly #changed = new Set<JobRun>();
  #onWritten: OnProgressWritten = () => {};
  #timer: NodeJS.Timeout | undefined;

  constructor(options: ProgressOptions) {
    this.#options = options;
  }

  start(onWritten: OnProgressWritten): void {
    this.#onWritten = onWritten;
  }

  /** Notes that a job made progress. A job that is shorter than the interval costs no write. */
  note(run: JobRun): void {
    this.#changed.add(run);
    this.#timer ??= setTimeout(() => void this.#flush(), this.#options.everyMs);
  }

  forget(run: JobRun): void {
    this.#changed.delete(run);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#changed.clear();
  }

  async #flush(): Promise<void> {
    this.#timer = undefined;
    const runs = [...this.#changed].filter((run) => !run.stopReason);
    this.#changed.clear();
    try {
      const outcomes = await this.#options.records.apply(runs.map(progressMove));
      for (const [i, outcome] of outcomes.entries()) this.#onWritten(runs[i], outcome);
    } catch (error) {
      this.#options.log.debug({ error }, 'progress could not be written');
    }
  }
}

const progressMove = (run: JobRun): Move => ({
  move: 'progress',
  id: run.record.id,
  lease: run.lease,
  fields: { progress: run.progress },
});

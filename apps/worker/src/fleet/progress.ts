/** Progress of all running jobs, written together at most every `everyMs`, in one command however many jobs run. */
import type { Clock, JobId, Log } from '@lehr/shared';
import type { Move, Outcome, RecordStore } from '@lehr/shared/records';
import type { JobRun } from '../runs/job-run.ts';

export interface ProgressOptions {
  readonly records: RecordStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly everyMs: number;
  /** What the record said: a job may be gone, or its cancel asked for. */
  readonly onOutcome: (run: JobRun, outcome: Outcome) => void;
}

export class ProgressWriter {
  readonly #options: ProgressOptions;
  readonly #changed = new Map<JobId, JobRun>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: ProgressOptions) {
    this.#options = options;
  }

  /** Notes that a job has got further. Jobs shorter than the interval never cost a write. */
  note(run: JobRun): void {
    this.#changed.set(run.record.id, run);
    this.#timer ??= setTimeout(() => void this.#flush(), this.#options.everyMs);
  }

  forget(run: JobRun): void {
    this.#changed.delete(run.record.id);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#changed.clear();
  }

  async #flush(): Promise<void> {
    this.#timer = undefined;
    const runs = [...this.#changed.values()].filter((run) => !run.stopReason);
    this.#changed.clear();
    try {
      const outcomes = await this.#options.records.apply(runs.map(progressMove));
      for (const [i, outcome] of outcomes.entries()) this.#options.onOutcome(runs[i], outcome);
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

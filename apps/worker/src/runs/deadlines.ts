/** Stops running jobs when their deadline comes. Waiting ones are ended by the janitor. */
import type { JobId } from '@lehr/shared';
import type { JobRun } from './job-run.ts';

/** setTimeout cannot wait longer. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export class Deadlines {
  readonly #timers = new Map<JobId, NodeJS.Timeout>();
  readonly #onPassed: (id: JobId) => void;

  constructor(onPassed: (id: JobId) => void) {
    this.#onPassed = onPassed;
  }

  watch({ record }: JobRun): void {
    if (record.deadline_at === undefined || record.state !== 'running') return;
    // Counted from the start of this attempt by Redis's clock, so that ours may be wrong.
    const leftMs = Math.max(0, record.deadline_at - record.started_at);
    this.#timers.set(
      record.id,
      setTimeout(() => this.#onPassed(record.id), Math.min(leftMs, MAX_TIMER_MS)),
    );
  }

  forget(id: JobId): void {
    clearTimeout(this.#timers.get(id));
    this.#timers.delete(id);
  }
}

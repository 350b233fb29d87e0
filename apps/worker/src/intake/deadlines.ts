/** Stops running jobs at their deadlines. The janitor ends waiting jobs at theirs. */
import type { LeaseToken } from '@lehr/shared';
import type { JobRun } from '../runs/job-run.ts';

/** The longest delay of setTimeout. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export class Deadlines {
  readonly #timers = new Map<LeaseToken, NodeJS.Timeout>();
  readonly #onPassed: (lease: LeaseToken) => void;

  constructor(onPassed: (lease: LeaseToken) => void) {
    this.#onPassed = onPassed;
  }

  watch({ record, lease }: JobRun): void {
    if (record.deadline_at === undefined || record.state !== 'running') return;
    // Both times are by Redis's clock, so that this machine's clock may be wrong.
    const leftMs = Math.max(0, record.deadline_at - record.started_at);
    const timer = setTimeout(() => this.#onPassed(lease), Math.min(leftMs, MAX_TIMER_MS));
    this.#timers.set(lease, timer);
  }

  forget(lease: LeaseToken): void {
    clearTimeout(this.#timers.get(lease));
    this.#timers.delete(lease);
  }
}

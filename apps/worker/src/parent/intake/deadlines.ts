/** Stops running jobs at their deadlines, and those that run too long. The janitor ends waiting jobs at their deadlines. */
import type { LeaseToken } from '@lehr/shared';
import type { StopReason } from '../delivery/attempt.ts';
import type { JobRun } from '../runs/job-run.ts';

/** The longest delay of setTimeout. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export class Deadlines {
  readonly #timers = new Map<LeaseToken, NodeJS.Timeout>();
  readonly #maxRunMs: number;
  readonly #onPassed: (lease: LeaseToken, reason: StopReason) => void;

  constructor(maxRunMs: number, onPassed: (lease: LeaseToken, reason: StopReason) => void) {
    this.#maxRunMs = maxRunMs;
    this.#onPassed = onPassed;
  }

  watch({ record, lease }: JobRun): void {
    if (record.state !== 'running') return;
    // Both times are by Redis's clock, so that this machine's clock may be wrong.
    const leftMs = Math.max(0, (record.deadline_at ?? Number.POSITIVE_INFINITY) - record.started_at);
    const reason: StopReason = leftMs <= this.#maxRunMs ? { kind: 'expired' } : tooLong(this.#maxRunMs);
    const ms = Math.min(leftMs, this.#maxRunMs, MAX_TIMER_MS);
    this.#timers.set(
      lease,
      setTimeout(() => this.#onPassed(lease, reason), ms),
    );
  }

  forget(lease: LeaseToken): void {
    clearTimeout(this.#timers.get(lease));
    this.#timers.delete(lease);
  }
}

const tooLong = (maxRunMs: number): StopReason => ({
  kind: 'failed',
  code: 'run-too-long',
  message: `The job ran for ${maxRunMs / 1000} seconds, the limit of its worker, and was stopped.`,
});

/**
 * The active jobs of a worker: from their start until their end is written. They are identified by lease token, because a job whose lease
 * was lost may be claimed here again.
 */
import type { Clock, JobId, JobState, LeaseToken, Log } from '@lehr/shared';
import type { Outcome } from '@lehr/shared/records';
import type { StopReason } from '../delivery/attempt.ts';
import type { JobRun } from '../runs/job-run.ts';
import type { JobRunner } from '../runs/job-runner.ts';

interface ActiveJobsOptions {
  readonly runner: Pick<JobRunner, 'run' | 'stop'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly maxRunMs: number;
  /** Writes the end of a job that has run. Resolves with the end, or with undefined when none was written here. */
  readonly finish: (run: JobRun) => Promise<JobState | undefined>;
  /** The end was written, or could not be: the job is no longer active. */
  readonly onEnded: (run: JobRun, end: JobState | undefined) => void;
}

/** Time to hand jobs back after the drain: the engine drops their samples within a step, then their ends are written. */
const HAND_BACK_MS = 10_000;

export class ActiveJobs {
  readonly #options: ActiveJobsOptions;
  readonly #deadlines: Deadlines;
  readonly #runs = new Map<LeaseToken, JobRun>();
  /** Ends the current wait of `drain`. */
  #jobEnded: (() => void) | undefined;

  constructor(options: ActiveJobsOptions) {
    this.#options = options;
    this.#deadlines = new Deadlines(options.maxRunMs, (lease, reason) => this.stop(lease, reason));
  }

  get size(): number {
    return this.#runs.size;
  }

  get attempts(): readonly number[] {
    return [...this.#runs.values()].map(({ record }) => record.attempt);
  }

  /** Runs a job that was started, and writes its end. Never rejects. */
  async runToEnd(run: JobRun, started: Pick<Outcome, 'followed' | 'watched'>): Promise<void> {
    this.#runs.set(run.lease, run);
    this.#deadlines.watch(run);
    await this.#options.runner.run(run, started);
    const end = await this.#finish(run);
    this.#runs.delete(run.lease);
    this.#deadlines.forget(run.lease);
    this.#options.onEnded(run, end);
    this.#jobEnded?.();
  }

  stop(lease: LeaseToken, reason: StopReason): void {
    const run = this.#runs.get(lease);
    if (run) this.#options.runner.stop(run, reason);
  }

  /** Stops every attempt of this job. */
  cancel(job: JobId): void {
    for (const run of this.#runs.values()) {
      if (run.record.id === job) this.#options.runner.stop(run, { kind: 'canceled' });
    }
  }

  /** Lets the jobs finish for `graceMs`, then hands the rest back to their queues. */
  async drain(graceMs: number): Promise<void> {
    this.#options.log.info({ activeJobs: this.size, graceMs }, 'draining');
    await this.#waitUntilNone(graceMs);
    for (const run of this.#runs.values()) this.#options.runner.stop(run, { kind: 'handed-back' });
    await this.#waitUntilNone(HAND_BACK_MS);
  }

  async #waitUntilNone(ms: number): Promise<void> {
    const { clock } = this.#options;
    const giveUpAt = clock.monotonic() + ms;
    while (this.size > 0 && clock.monotonic() < giveUpAt) {
      const waiting = new AbortController();
      this.#jobEnded = () => waiting.abort();
      await clock.sleep(giveUpAt - clock.monotonic(), waiting.signal);
    }
  }

  /** Returns the end that this worker wrote; undefined when it wrote none. */
  async #finish(run: JobRun): Promise<JobState | undefined> {
    try {
      return await this.#options.finish(run);
    } catch (error) {
      this.#options.log.error(
        { job: run.record.id, error },
        'the end of a job could not be written; its lease will expire',
      );
      return undefined;
    }
  }
}

/** The longest delay of setTimeout. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Stops running jobs at their deadlines, and those that run too long. The janitor ends waiting jobs at their deadlines. */
class Deadlines {
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

/**
 * Writes the progress of all running jobs in one command: at most every `followedEveryMs` for jobs that a caller follows, and
 * seldom for the others. For these it reads now and then whether that has changed.
 */
import { type Clock, type Log, wantProgress } from '@lehr/shared';
import type { Move, Outcome, RecordStore } from '@lehr/shared/records';
import type { Keys, Redis } from '@lehr/shared/redis';
import type { JobRun } from '../runs/job-run.ts';

export interface ProgressOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly records: RecordStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly followedEveryMs: number;
  readonly unfollowedEveryMs: number;
  readonly checkEveryMs: number;
}

/** `outcome` may say that the job has ended, moved to another worker, or is to be cancelled. */
export type OnProgressWritten = (run: JobRun, outcome: Outcome) => void;

export class ProgressWriter {
  readonly #options: ProgressOptions;
  readonly #followed = new WeakSet<JobRun>();
  /** When progress was written last, or first noted; by the monotonic clock. */
  readonly #writtenAt = new WeakMap<JobRun, number>();
  /** Jobs with progress that is not written yet. */
  readonly #changed = { followed: new Set<JobRun>(), unfollowed: new Set<JobRun>() };
  #onWritten: OnProgressWritten = () => {};
  #flushTimer: NodeJS.Timeout | undefined;
  #checkTimer: NodeJS.Timeout | undefined;

  constructor(options: ProgressOptions) {
    this.#options = options;
  }

  start(onWritten: OnProgressWritten): void {
    this.#onWritten = onWritten;
  }

  /** Sets whether a caller follows the job. A job whose webhooks report progress is always followed. */
  follow(run: JobRun, isFollowed: boolean): void {
    if (isFollowed || run.record.hook_events?.includes('job.progress')) this.#followed.add(run);
    else this.#followed.delete(run);
  }

  /** Notes that a job made progress. A job that is shorter than the interval costs no write. */
  note(run: JobRun): void {
    // There is no record to write it to.
    if (run.isDirect) return;
    const { clock, followedEveryMs } = this.#options;
    if (this.#followed.has(run)) {
      this.#changed.unfollowed.delete(run);
      this.#changed.followed.add(run);
      this.#flushTimer ??= setTimeout(() => void this.#flush(), followedEveryMs);
    } else {
      if (!this.#writtenAt.has(run)) this.#writtenAt.set(run, clock.monotonic());
      this.#changed.unfollowed.add(run);
      this.#checkAgain();
    }
  }

  forget(run: JobRun): void {
    this.#changed.followed.delete(run);
    this.#changed.unfollowed.delete(run);
  }

  stop(): void {
    clearTimeout(this.#flushTimer);
    clearTimeout(this.#checkTimer);
    this.#changed.followed.clear();
    this.#changed.unfollowed.clear();
  }

  #checkAgain(): void {
    this.#checkTimer ??= setTimeout(() => void this.#check(), this.#options.checkEveryMs);
  }

  async #flush(): Promise<void> {
    this.#flushTimer = undefined;
    const runs = [...this.#changed.followed];
    this.#changed.followed.clear();
    await this.#write(runs);
  }

  /** Writes the progress of unfollowed jobs that is due, or wanted now; looks at the others again later. */
  async #check(): Promise<void> {
    const { redis, keys, clock, log, unfollowedEveryMs } = this.#options;
    const runs = [...this.#changed.unfollowed];
    try {
      const wanted = await wantProgress(
        redis,
        keys,
        runs.map(({ record }) => record),
      );
      const isDue = (run: JobRun): boolean =>
        clock.monotonic() - (this.#writtenAt.get(run) ?? 0) >= unfollowedEveryMs;
      const isChanged = (run: JobRun): boolean => this.#changed.unfollowed.delete(run);
      await this.#write(runs.filter((run, i) => (wanted[i] || isDue(run)) && isChanged(run)));
    } catch (error) {
      log.debug({ error }, 'the followers of jobs could not be read');
    } finally {
      this.#checkTimer = undefined;
    }
    if (this.#changed.unfollowed.size > 0) this.#checkAgain();
  }

  async #write(changed: readonly JobRun[]): Promise<void> {
    const runs = changed.filter((run) => !run.stopReason);
    for (const run of runs) this.#writtenAt.set(run, this.#options.clock.monotonic());
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

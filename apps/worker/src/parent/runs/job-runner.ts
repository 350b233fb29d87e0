/**
 * The interface between the two halves of a worker. The queue side claims jobs and writes their ends; the engine side, which
 * implements this, runs them.
 */
import type { JobState, PriorityClass } from '@lehr/shared';
import type { Claim, FullTenant } from '@lehr/shared/queue';
import type { JobRecord, Outcome } from '@lehr/shared/records';
import type { StopReason } from '../delivery/attempt.ts';
import type { JobRun } from './job-run.ts';
import type { Room } from './lane-rows.ts';

export interface JobRunner {
  /** False while a dead engine is being restarted. */
  readonly isUp: boolean;
  /** Whether a model that the engine has open runs the jobs of this group. */
  serves(group: string): boolean;
  /** For a job of this class. */
  room(group: string, priority: PriorityClass): Room;
  /** Tenants that get no more jobs of a task here until one of those that they have has its input. */
  readonly fullTenants: readonly FullTenant[];
  /** How many jobs of the usual size fit into this many rows; at least one. */
  usualJobs(group: string, rows: number): number;
  /** Throws LehrError when this worker cannot run the job. */
  newRun(claim: Claim, record: JobRecord, claimedAt: number): JobRun;
  /** Runs a job. Resolves when its end can be written; `run.stopReason` then says whether it was stopped. Never rejects. */
  run(run: JobRun, started: Pick<Outcome, 'followed' | 'watched'>): Promise<void>;
  /** Ends a job early; `run` resolves within a step. Does nothing when it has resolved already. */
  stop(run: JobRun, reason: StopReason): void;
  /** The end of a job was written: `end`, or undefined when this worker wrote none. */
  ended(run: JobRun, end: JobState | undefined): void;
  /** Starts another engine, unless the engine has work. */
  restartEngine(): void;
}

export interface JobRunnerListener {
  /** There may be room for another job: rows are free, or a new engine is ready. */
  onRoom(): void;
  /** The engine has opened models that it had not open before, so `serves` may differ. */
  onModelsChanged(): void;
  /** The engine died and cannot be restarted. */
  onEngineLost(): void;
}

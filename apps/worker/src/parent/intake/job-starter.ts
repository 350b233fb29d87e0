/** Starts an attempt of each claimed job, and decides which of them run here. */
import {
  type Clock,
  type ErrorCode,
  type JobId,
  type JobState,
  type Log,
  type PlainError,
  toPlainError,
  type WorkerId,
} from '@lehr/shared';
import {
  type Claim,
  firstScore,
  type GroupQueues,
  type Leases,
  type WorkflowRunner,
} from '@lehr/shared/queue';
import type { JobRecord, Outcome, RecordStore } from '@lehr/shared/records';
import { traceIdOf } from '@lehr/shared/tracing';
import { giveUp, setAside } from '../delivery/give-up.ts';
import type { JobRun } from '../runs/job-run.ts';
import type { JobRunner } from '../runs/job-runner.ts';

export interface JobStarterOptions {
  readonly worker: WorkerId;
  readonly queues: GroupQueues;
  readonly records: RecordStore;
  readonly workflows: WorkflowRunner;
  readonly leases: Leases;
  readonly runner: Pick<JobRunner, 'newRun' | 'stop' | 'serves'>;
  readonly clock: Clock;
  readonly log: Log;
  /** The attempt of each active job. */
  readonly activeAttempts: () => readonly number[];
  /** A job was claimed and its attempt started. */
  readonly onStarted: (run: JobRun, outcome: Outcome) => void;
  /** A job ended when it was claimed; it does not run here. `code` says why it failed. */
  readonly onEndedAtClaim: (queue: string, end: JobState, code?: ErrorCode) => void;
}

/** A job fails when an attempt beyond this one is started, on whichever worker. */
export const MAX_ATTEMPTS = 6;
const TRIED_TOO_OFTEN: PlainError = {
  code: 'attempts-exhausted',
  message: `The job was started ${MAX_ATTEMPTS} times and never finished. It is not tried again.`,
};
/** BullMQ only marks such a job; the process that claims it must fail it. */
const STALLED_TOO_OFTEN: PlainError = {
  code: 'attempts-exhausted',
  message: 'The workers that ran the job stopped renewing its lease too often. It is not tried again.',
};
export class JobStarter {
  readonly #options: JobStarterOptions;
  /** Fewer after a claim of jobs that were started before. */
  #claimAtOnce = Number.POSITIVE_INFINITY;
  /** Claimed jobs that have not started yet; true for those that were cancelled meanwhile. */
  readonly #starting = new Map<JobId, boolean>();

  constructor(options: JobStarterOptions) {
    this.#options = options;
  }

  /** How many more jobs may be claimed now, as far as the attempts of the active jobs and of the last claim allow. */
  get freeJobs(): number {
    const active = this.#options.activeAttempts();
    return Math.min(this.#claimAtOnce, mostJobs(active) - active.length);
  }

  /** Cancels a job that is being started: its run is stopped as soon as it exists. Ignores other jobs. */
  cancel(id: JobId): void {
    if (this.#starting.has(id)) this.#starting.set(id, true);
  }

  async start(claims: readonly Claim[]): Promise<void> {
    const { leases } = this.#options;
    for (const claim of claims) leases.add(claim);
    for (const { jobId } of claims) this.#starting.set(jobId, false);
    try {
      await this.#startAll(claims);
    } catch (error) {
      // The leases of jobs that did not start are left to expire; the janitor then requeues the jobs.
      for (const claim of claims) if (this.#starting.has(claim.jobId)) leases.remove(claim);
      throw error;
    } finally {
      this.#starting.clear();
    }
  }

  async #startAll(claims: readonly Claim[]): Promise<void> {
    const { records, worker, clock, runner, activeAttempts } = this.#options;
    const alive = await this.#failStalled(claims);
    const outcomes = await records.apply(
      alive.map((claim) => ({ move: 'start', id: claim.jobId, lease: claim.token, fields: { worker } })),
    );
    const claimedAt = clock.monotonic();
    const attempts = outcomes.map(({ attempt }) => attempt);
    const kept = jobsToKeep(attempts, activeAttempts());
    this.#claimAtOnce = attempts.some((attempt) => attempt > 1) ? kept : this.#claimAtOnce * 2;
    let running = 0;
    for (const [i, outcome] of outcomes.entries()) {
      const run = await this.#start(alive[i], outcome, claimedAt);
      if (run && ++running > kept) runner.stop(run, { kind: 'handed-back' });
    }
  }

  /** Fails the jobs that stalled too often; returns the others. */
  async #failStalled(claims: readonly Claim[]): Promise<Claim[]> {
    const alive: Claim[] = [];
    for (const claim of claims) {
      if (claim.deferredFailure === undefined) alive.push(claim);
      else await giveUp(this.#options, claim, STALLED_TOO_OFTEN);
    }
    return alive;
  }

  /** Another attempt, which is not counted, runs the job when a worker serves its model. */
  async #handBack(claim: Claim, { id, priority, score = firstScore(priority) }: JobRecord): Promise<void> {
    const { queues, leases, records, log } = this.#options;
    log.info({ job: id, queue: claim.queue }, 'job handed back: its model was closed after it was claimed');
    await records.apply([{ move: 'requeue', id, lease: claim.token, refund: true }]);
    leases.remove(claim);
    await queues.of(claim.queue).handBack(claim, score);
  }

  /** Returns the run, unless the job does not run here. */
  async #start(claim: Claim, outcome: Outcome, claimedAt: number): Promise<JobRun | undefined> {
    const { queues, leases, runner, workflows, log } = this.#options;
    const { record, unreadable } = outcome;
    if (unreadable) {
      await setAside(this.#options, claim, unreadable);
      return undefined;
    }
    if (!record) {
      // The job ended while it waited, or its record is gone: only its queue entry is left to close.
      log.info(
        { job: claim.jobId, code: outcome.code, state: outcome.state },
        'claimed a job that has ended',
      );
      if (outcome.code === 'overtaken' && outcome.state)
        this.#options.onEndedAtClaim(claim.queue, outcome.state);
      leases.remove(claim);
      await queues.of(claim.queue).complete(claim);
      // Of a deleted job nothing is kept, not even for the admin page.
      if (outcome.code === 'missing') await queues.of(claim.queue).remove(claim.jobId);
      return undefined;
    }
    if (outcome.attempt > MAX_ATTEMPTS) {
      await giveUp(this.#options, claim, TRIED_TOO_OFTEN);
      return undefined;
    }
    let run: JobRun;
    try {
      run = runner.newRun(claim, record, claimedAt);
    } catch (error) {
      const failure = toPlainError(error);
      // The engine died, or closed the model, after the job was claimed: the job is not to blame.
      const isUnserved = failure.code === 'model-unavailable' && !runner.serves(claim.queue);
      if (isUnserved) await this.#handBack(claim, record);
      else await giveUp(this.#options, claim, failure);
      return undefined;
    }
    const { prompt } = record.input;
    const trace = traceIdOf(record.trace);
    const { id: job, parent: workflow } = record;
    const facts = { job, workflow, queue: claim.queue, attempt: outcome.attempt, trace };
    log.info({ ...facts, prompt }, 'job started');
    if (record.parent) await workflows.begin(record.parent);
    this.#options.onStarted(run, outcome);
    if (this.#starting.get(record.id)) runner.stop(run, { kind: 'canceled' });
    this.#starting.delete(record.id);
    return run;
  }
}

/**
 * Protects other jobs from a job that ends its whole worker. An attempt that ends with its worker is counted for every job that
 * the worker had, and the worker cannot say which job was the cause. So a job that was started before runs beside fewer jobs at
 * each further attempt, and at last alone: the cause fails, and the others finish. runs/crash-suspects.ts does the same for jobs that
 * end only the engine, where the worker knows which samples ran.
 *
 * How many jobs a worker may have, a job with this attempt included. Hand-backs are no attempts.
 */
function mostJobsBeside(attempt: number): number {
  if (attempt <= 1) return Number.POSITIVE_INFINITY;
  return attempt === 2 ? 4 : attempt === 3 ? 2 : 1;
}

/** The fewest that any of these attempts allows. */
export const mostJobs = (attempts: readonly number[]): number =>
  Math.min(Number.POSITIVE_INFINITY, ...attempts.map(mostJobsBeside));

/**
 * How many of the jobs that were just claimed may run beside the active ones; at least one, or two workers could pass such
 * jobs to each other without end.
 */
export function jobsToKeep(claimed: readonly number[], active: readonly number[]): number {
  return Math.max(1, mostJobs([...claimed, ...active]) - active.length);
}

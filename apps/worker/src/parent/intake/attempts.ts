/**
 * The attempts that a worker has in hand. It starts one for each claimed job and decides which of them run here, stops them at their
 * deadlines, and has their ends written. They are identified by lease token, because a job whose lease was lost may be claimed here again.
 */
import {
  type Clock,
  type ErrorCode,
  type JobId,
  type JobState,
  type LeaseToken,
  type Log,
  type PlainError,
  toPlainError,
  type WorkerId,
} from '@lehr/shared';
import {
  type AttemptStore,
  type Claim,
  firstScore,
  type GroupQueues,
  isPausedBy,
  type Leases,
  type Started,
  type WorkflowRunner,
} from '@lehr/shared/queue';
import type { JobRecord, Outcome, RecordStore } from '@lehr/shared/records';
import { traceIdOf } from '@lehr/shared/tracing';
import type { StopReason } from '../delivery/attempt.ts';
import { giveUp, setAside } from '../delivery/give-up.ts';
import type { JobRun } from '../runs/job-run.ts';
import type { JobRunner } from '../runs/job-runner.ts';

export interface AttemptsOptions {
  readonly worker: WorkerId;
  readonly queues: GroupQueues;
  readonly store: Pick<AttemptStore, 'start'>;
  readonly records: RecordStore;
  readonly workflows: WorkflowRunner;
  readonly leases: Leases;
  readonly runner: Pick<JobRunner, 'newRun' | 'run' | 'stop' | 'serves'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly maxRunMs: number;
  /** Writes the end of a job that has run. Resolves with the end, or with undefined when none was written here. */
  readonly finish: (run: JobRun) => Promise<JobState | undefined>;
  /** The end was written, or could not be: the job is no longer active. */
  readonly onEnded: (run: JobRun, end: JobState | undefined) => void;
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
/** Time to hand jobs back after the drain: the engine drops their samples within a step, then their ends are written. */
const HAND_BACK_MS = 10_000;

export class Attempts {
  readonly #options: AttemptsOptions;
  readonly #deadlines: Deadlines;
  /** From the start of a job until its end is written. */
  readonly #runs = new Map<LeaseToken, JobRun>();
  /** Ends the current wait of `drain`. */
  #jobEnded: (() => void) | undefined;
  /** Fewer after a claim of jobs that were started before. */
  #claimAtOnce = Number.POSITIVE_INFINITY;
  /** While jobs are being claimed: what was cancelled or paused meanwhile. It may be among the claimed jobs, which are not known yet. */
  #meanwhile: { readonly canceled: Set<JobId>; readonly paused: Set<string> } | undefined;

  constructor(options: AttemptsOptions) {
    this.#options = options;
    this.#deadlines = new Deadlines(options.maxRunMs, (lease, reason) => this.stop(lease, reason));
  }

  /** Jobs that have started and whose end is not written. */
  get size(): number {
    return this.#runs.size;
  }

  /** How many more jobs may be claimed now, as far as the attempts of the active jobs and of the last claim allow. */
  get freeJobs(): number {
    return Math.min(this.#claimAtOnce, mostJobs(this.#numbers) - this.size);
  }

  /** Which attempt of its job each one is. */
  get #numbers(): readonly number[] {
    return [...this.#runs.values()].map(({ record }) => record.attempt);
  }

  /** Stops every attempt of this job; one that is being started, as soon as its run exists. */
  cancel(id: JobId): void {
    this.#meanwhile?.canceled.add(id);
    for (const run of this.#runs.values()) {
      if (run.record.id === id) this.#options.runner.stop(run, { kind: 'canceled' });
    }
  }

  /** Hands the jobs of this model or tenant back to their queues: it was paused (`name`, `name@version`, `*` or `tenant:<name>`). */
  handBack(target: string): void {
    this.#meanwhile?.paused.add(target);
    for (const run of this.#runs.values()) {
      if (isPausedBy(target, run.record.model, run.record.tenant))
        this.#options.runner.stop(run, { kind: 'handed-back' });
    }
  }

  stop(lease: LeaseToken, reason: StopReason): void {
    const run = this.#runs.get(lease);
    if (run) this.#options.runner.stop(run, reason);
  }

  /**
   * Claims up to `count` jobs of a group queue and starts an attempt of each; `outOfTurn` first, if it still waits. One call at a time.
   * Returns how many jobs left the queue.
   */
  async claim(queue: string, count: number, outOfTurn?: JobId): Promise<number> {
    const { leases, store, clock } = this.#options;
    this.#meanwhile = { canceled: new Set(), paused: new Set() };
    try {
      const claimed = await store.start(queue, count, outOfTurn);
      for (const { claim } of claimed) leases.add(claim);
      await this.#beginAll(claimed, clock.monotonic());
      return claimed.length;
    } finally {
      this.#meanwhile = undefined;
    }
  }

  async #beginAll(claimed: readonly Started[], claimedAt: number): Promise<void> {
    const attempts = claimed.flatMap(({ outcome }) => outcome?.attempt ?? []);
    const kept = jobsToKeep(attempts, this.#numbers);
    if (claimed.length > 0) {
      this.#claimAtOnce = attempts.some((attempt) => attempt > 1) ? kept : this.#claimAtOnce * 2;
    }
    const left = new Set(claimed);
    let running = 0;
    try {
      for (const started of claimed) {
        const run = await this.#begin(started, claimedAt);
        left.delete(started);
        if (run && ++running > kept) this.#options.runner.stop(run, { kind: 'handed-back' });
      }
    } catch (error) {
      // The leases of jobs that do not run are left to expire; the janitor then requeues the jobs.
      for (const { claim } of left) this.#options.leases.remove(claim);
      throw error;
    }
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
  async #begin({ claim, outcome }: Started, claimedAt: number): Promise<JobRun | undefined> {
    const { queues, leases, runner, workflows, log } = this.#options;
    if (!outcome) {
      await giveUp(this.#options, claim, STALLED_TOO_OFTEN);
      return undefined;
    }
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
    void this.runToEnd(run, outcome);
    this.#stopMeanwhile(run);
    return run;
  }

  /** Stops a job that was cancelled or paused while it was being claimed. */
  #stopMeanwhile(run: JobRun): void {
    const { id, model, tenant } = run.record;
    const meanwhile = this.#meanwhile;
    if (meanwhile?.canceled.has(id)) this.#options.runner.stop(run, { kind: 'canceled' });
    for (const target of meanwhile?.paused ?? [])
      if (isPausedBy(target, model, tenant)) this.#options.runner.stop(run, { kind: 'handed-back' });
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

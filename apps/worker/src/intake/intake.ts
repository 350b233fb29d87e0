/**
 * The loop that claims jobs. It reads the heads of all group queues, chooses one (policy.ts), claims as many jobs as fit into
 * the next step, starts an attempt of each, and passes it on. When no job can be served it sleeps on the markers of the
 * groups that it has room for.
 *
 *   looking   -> claiming   a head can be served: claim, start, look again
 *   looking   -> sleeping   no head can be served
 *   sleeping  -> looking    a marker was popped, rows became free, a new group appeared
 *   any       -> stopped    drain: no further job is claimed
 */
import {
  type Clock,
  type JobId,
  type JobState,
  type Log,
  type PlainError,
  toPlainError,
  type WorkerId,
} from '@lehr/shared';
import type { Claim, Claimer, GroupHead, GroupQueues, Leases, WorkflowRunner } from '@lehr/shared/queue';
import type { Outcome, RecordStore } from '@lehr/shared/records';
import { giveUp } from '../delivery/give-up.ts';
import { setAside } from '../delivery/set-aside.ts';
import type { JobRun } from '../runs/job-run.ts';
import type { JobRunner } from '../runs/job-runner.ts';
import { chooseGroup } from './policy.ts';
import { jobsToKeep, mostJobs } from './suspicion.ts';

export interface IntakeOptions {
  readonly worker: WorkerId;
  readonly claimer: Claimer;
  readonly queues: GroupQueues;
  readonly records: RecordStore;
  readonly workflows: WorkflowRunner;
  readonly leases: Leases;
  readonly runner: Pick<JobRunner, 'room' | 'usualJobs' | 'newRun' | 'stop'>;
  readonly clock: Clock;
  readonly log: Log;
  /** The group queues that this worker serves. */
  readonly groups: () => readonly string[];
  /** False while the engine is down or the store refuses writes. */
  readonly mayClaim: () => boolean;
  /** The attempt of each active job. */
  readonly activeAttempts: () => readonly number[];
  /** A job was claimed and its attempt started. */
  readonly onStarted: (run: JobRun, outcome: Outcome) => void;
  /** A job ended when it was claimed; it does not run here. */
  readonly onEndedAtClaim: (queue: string, end: JobState) => void;
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
/** The pause of the loop after an error, such as a Redis that does not answer. */
const RETRY_MS = 500;

interface Sleep {
  readonly groups: readonly string[];
  readonly woken: Promise<string | undefined>;
}

export class Intake {
  readonly #options: IntakeOptions;
  readonly #stop = new AbortController();
  #loop: Promise<void> | undefined;
  #sleep: Sleep | undefined;
  /** Ends a sleep of this loop; set while it sleeps. */
  #wake: (() => void) | undefined;
  /** Whether to look again instead of sleeping. */
  #shouldLook = false;
  /** Groups with waiting jobs that were not served. Sleeping on their markers would wake the loop at once. */
  #skippedGroups: ReadonlySet<string> = new Set();
  /** At most so many jobs are claimed at once; fewer after a claim of jobs that were started before. */
  #claimAtOnce = Number.POSITIVE_INFINITY;
  /** Claimed jobs that have not started yet; true for those that were cancelled meanwhile. */
  readonly #starting = new Map<JobId, boolean>();

  constructor(options: IntakeOptions) {
    this.#options = options;
  }

  start(): void {
    this.#loop ??= this.#run();
  }

  /** Looks for jobs again: rows became free, a group is new, or the engine is ready again. */
  look(): void {
    this.#shouldLook = true;
    this.#wake?.();
  }

  /** Cancels a job that is being started: its run is stopped as soon as it exists. Ignores other jobs. */
  cancel(id: JobId): void {
    if (this.#starting.has(id)) this.#starting.set(id, true);
  }

  /** Stops claiming; resolves when the jobs of a claim under way have started. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.look();
    await this.#options.claimer.interrupt().catch(() => {});
    await this.#loop;
  }

  async #run(): Promise<void> {
    const { clock, log } = this.#options;
    while (!this.#stop.signal.aborted) {
      try {
        await this.#fill();
        await this.#sleepUntilWoken();
      } catch (error) {
        if (this.#stop.signal.aborted) return;
        log.warn({ error }, 'jobs could not be claimed; retrying');
        this.#sleep = undefined;
        await clock.sleep(RETRY_MS, this.#stop.signal);
      }
    }
  }

  /** Claims until no head can be served. */
  async #fill(): Promise<void> {
    const { claimer, groups, runner } = this.#options;
    this.#skippedGroups = new Set();
    // Reset before the heads are read, so that no later change is missed; also while claiming is not allowed, or the loop
    // would spin.
    this.#shouldLook = false;
    while (!this.#stop.signal.aborted && this.#mayClaim()) {
      const heads = await claimer.heads(groups());
      const choice = chooseGroup(heads, (queue) => runner.room(queue));
      if (!choice) {
        this.#skippedGroups = new Set(heads.map((head) => head.queue));
        return;
      }
      const head = heads.find(({ queue }) => queue === choice.queue) as GroupHead;
      const fitting = runner.usualJobs(choice.queue, choice.rows);
      const claimed = await this.#claim(
        choice.queue,
        Math.min(head.waiting, fitting, this.#freeJobs, this.#claimAtOnce),
      );
      // No job waits any more: the next one sets a marker.
      if (heads.length === 1 && claimed === head.waiting) return;
    }
  }

  /** Sleeps until a marker of a group with room is popped or `look` is called. */
  async #sleepUntilWoken(): Promise<void> {
    const { claimer, groups } = this.#options;
    if (this.#shouldLook) return;
    const wanted = this.#mayClaim()
      ? groups().filter((group) => this.#hasRoom(group) && !this.#skippedGroups.has(group))
      : [];
    if (this.#sleep && !wanted.every((group) => this.#sleep?.groups.includes(group))) {
      await claimer.interrupt();
      await this.#wokenBy(await this.#sleep.woken);
      if (this.#shouldLook) return;
    }
    this.#sleep ??= { groups: wanted, woken: claimer.wait(wanted) };
    const local = new Promise<'local'>((resolve) => {
      this.#wake = () => resolve('local');
    });
    const woken = await Promise.race([this.#sleep.woken, local]);
    this.#wake = undefined;
    if (woken !== 'local') await this.#wokenBy(woken);
  }

  /** The blocking pop returned. The marker of a group without room is passed on to another worker. */
  async #wokenBy(group: string | undefined): Promise<void> {
    this.#sleep = undefined;
    if (group === undefined) return;
    if (this.#stop.signal.aborted || !this.#mayClaim() || !this.#hasRoom(group)) {
      await this.#options.claimer.pass(group);
    } else {
      this.#shouldLook = true;
    }
  }

  #mayClaim(): boolean {
    return this.#options.mayClaim() && this.#freeJobs > 0;
  }

  /** How many more jobs the active ones allow beside them. */
  get #freeJobs(): number {
    const active = this.#options.activeAttempts();
    return mostJobs(active) - active.length;
  }

  #hasRoom(group: string): boolean {
    return this.#options.runner.room(group).freeRows > 0;
  }

  /** Claims up to `count` jobs and starts an attempt of each; returns how many jobs left the queue. */
  async #claim(group: string, count: number): Promise<number> {
    const { claimer, leases } = this.#options;
    const claims = await claimer.claim(group, count);
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
    return claims.length;
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

  /** Returns the run, unless the job does not run here. */
  async #start(claim: Claim, outcome: Outcome, claimedAt: number): Promise<JobRun | undefined> {
    const { queues, leases, runner, workflows, log } = this.#options;
    const { record, unreadable } = outcome;
    if (unreadable) return setAside(this.#options, claim, unreadable);
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
      await giveUp(this.#options, claim, toPlainError(error));
      return undefined;
    }
    const { prompt } = record.input;
    log.info({ job: record.id, queue: claim.queue, attempt: outcome.attempt, prompt }, 'job started');
    if (record.parent) await workflows.begin(record.parent);
    this.#options.onStarted(run, outcome);
    if (this.#starting.get(record.id)) runner.stop(run, { kind: 'canceled' });
    this.#starting.delete(record.id);
    return run;
  }
}

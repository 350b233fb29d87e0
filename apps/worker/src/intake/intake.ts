/**
 * The loop that brings work in. It looks at the heads of all group queues, chooses one (policy.ts), claims as many jobs as
 * fit into the next step, opens an attempt on each record, and hands the samples over. With nothing to take it
 * sleeps on the markers of those groups it has room for.
 *
 *   looking   -> claiming   a head can be served: claim, start, look again
 *   looking   -> sleeping   nothing can be served
 *   sleeping  -> looking    a marker popped, rows became free, a new group appeared
 *   any       -> stopped    drain; nothing is claimed any more
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
import type { JobRecord, Outcome, RecordStore } from '@lehr/shared/records';
import { giveUp } from '../delivery/give-up.ts';
import type { JobRun } from '../runs/job-run.ts';
import type { Runs } from '../runs/runs.ts';
import type { Ledger } from './ledger.ts';
import { chooseGroup, type Room } from './policy.ts';

export interface IntakeOptions {
  readonly worker: WorkerId;
  readonly claimer: Claimer;
  readonly queues: GroupQueues;
  readonly records: RecordStore;
  readonly workflows: WorkflowRunner;
  readonly leases: Leases;
  readonly ledger: Ledger;
  readonly runs: Runs;
  readonly clock: Clock;
  readonly log: Log;
  /** Group queues of the models this worker has open. */
  readonly groups: () => readonly string[];
  /** The engine is up and the store takes writes. */
  readonly mayClaim: () => boolean;
  /** Rows a job of the group usually takes; what it really takes is known once it is claimed. */
  readonly usualRows: (group: string) => number;
  /** The job in hand. Throws a LehrError when its input is not one this worker understands. */
  readonly runFor: (claim: Claim, record: JobRecord, claimedAt: number) => JobRun;
  readonly onStarted: (run: JobRun, outcome: Outcome) => void;
  /** A job came to its end in its claim, and was never run here. */
  readonly onUnrun: (queue: string, end: JobState) => void;
}

/** However often a job was tried, and by whomever: after so many attempts it is given up. */
export const MAX_ATTEMPTS = 6;
const TRIED_TOO_OFTEN: PlainError = {
  code: 'attempts-exhausted',
  message: `The job was started ${MAX_ATTEMPTS} times and never finished. It is not tried again.`,
};
/** BullMQ marks such a job and leaves failing it to us. */
const STALLED_TOO_OFTEN: PlainError = {
  code: 'attempts-exhausted',
  message: 'The workers that ran the job stopped renewing its lease too often. It is not tried again.',
};
/** After an error (Redis away) the loop tries again this much later. */
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
  /** Resolves the local half of a sleep. */
  #nudge: (() => void) | undefined;
  #nudged = false;
  /** Groups seen waiting that we chose not to, or could not, serve: sleeping on them would wake us at once. */
  #left: ReadonlySet<string> = new Set();
  /** Claimed and not yet in hand; true for those that were called off meanwhile. */
  readonly #opening = new Map<JobId, boolean>();

  constructor(options: IntakeOptions) {
    this.#options = options;
  }

  start(): void {
    this.#loop ??= this.#run();
  }

  /** Something changed that may let a job in: rows are free, a group is new, the engine is back. */
  look(): void {
    this.#nudged = true;
    this.#nudge?.();
  }

  /** Calls a job off that is being begun: its run is stopped as soon as it is in hand. Others are the business of `runs`. */
  cancel(id: JobId): void {
    if (this.#opening.has(id)) this.#opening.set(id, true);
  }

  /** Claims nothing any more; resolves when a claim under way has been handed to `runs`. */
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
        await this.#rest();
      } catch (error) {
        if (this.#stop.signal.aborted) return;
        log.warn({ error }, 'intake could not look for jobs; trying again');
        this.#sleep = undefined;
        await clock.sleep(RETRY_MS, this.#stop.signal);
      }
    }
  }

  /** Claims until no head can be served. */
  async #fill(): Promise<void> {
    const { claimer, clock, groups, mayClaim } = this.#options;
    this.#left = new Set();
    // Whatever happens from here on is news; also while we may not claim, or the loop would spin.
    this.#nudged = false;
    while (!this.#stop.signal.aborted && mayClaim()) {
      const heads = await claimer.heads(groups());
      const choice = chooseGroup(heads, (queue) => this.#room(queue), clock.now());
      if (!choice) {
        this.#left = new Set(heads.map((head) => head.queue));
        return;
      }
      const head = heads.find(({ queue }) => queue === choice.queue) as GroupHead;
      const fitting = Math.floor(choice.rows / this.#options.usualRows(choice.queue));
      const taken = await this.#take(choice.queue, Math.max(1, Math.min(head.waiting, fitting)));
      // All that was waiting is taken: whatever comes next sets a marker again.
      if (heads.length === 1 && taken === head.waiting) return;
    }
  }

  /** Room for a job of this group; an almost full lane counts as full when the usual job would not fit. */
  #room(queue: string): Room {
    const { ledger, runs, usualRows } = this.#options;
    const room = ledger.room(queue);
    const toCome = runs
      .all()
      .reduce((rows, run) => rows + (run.claim.queue === queue ? run.rowsToCome : 0), 0);
    const running = room.running || toCome > 0;
    const freeRows = Math.max(0, room.freeRows - toCome);
    return { running, freeRows: running && freeRows < usualRows(queue) ? 0 : freeRows };
  }

  /** Sleeps until a marker of a group with room pops or somebody calls `look`. */
  async #rest(): Promise<void> {
    const { claimer, groups, mayClaim } = this.#options;
    if (this.#nudged) return;
    const wanted = mayClaim()
      ? groups().filter((group) => this.#room(group).freeRows > 0 && !this.#left.has(group))
      : [];
    if (this.#sleep && !wanted.every((group) => this.#sleep?.groups.includes(group))) {
      await claimer.interrupt();
      await this.#wakeUp(await this.#sleep.woken);
      if (this.#nudged) return;
    }
    this.#sleep ??= { groups: wanted, woken: claimer.wait(wanted) };
    const local = new Promise<'local'>((resolve) => {
      this.#nudge = () => resolve('local');
    });
    const woken = await Promise.race([this.#sleep.woken, local]);
    this.#nudge = undefined;
    if (woken !== 'local') await this.#wakeUp(woken);
  }

  /** The blocking pop returned. A group we have no room for (any more) is passed on to another worker. */
  async #wakeUp(group: string | undefined): Promise<void> {
    this.#sleep = undefined;
    if (group === undefined) return;
    if (this.#stop.signal.aborted || !this.#options.mayClaim() || this.#room(group).freeRows === 0) {
      await this.#options.claimer.pass(group);
    } else {
      this.#nudged = true;
    }
  }

  /** Claims up to `count` jobs and opens an attempt on each; returns how many jobs left the queue. */
  async #take(group: string, count: number): Promise<number> {
    const { claimer, leases, runs } = this.#options;
    const claims = await claimer.claim(group, count);
    for (const claim of claims) leases.add(claim);
    for (const { jobId } of claims) this.#opening.set(jobId, false);
    try {
      await this.#open(claims);
    } catch (error) {
      // What was not begun is in nobody's hands: its lease runs out, and the janitor puts it back.
      for (const { jobId } of claims) if (!runs.find(jobId)) leases.remove(jobId);
      throw error;
    } finally {
      this.#opening.clear();
    }
    return claims.length;
  }

  async #open(claims: readonly Claim[]): Promise<void> {
    const { records, worker, clock } = this.#options;
    const alive = await this.#refuseGivenUp(claims);
    const outcomes = await records.apply(
      alive.map((claim) => ({ move: 'start', id: claim.jobId, lease: claim.token, fields: { worker } })),
    );
    const claimedAt = clock.monotonic();
    for (const [i, outcome] of outcomes.entries()) await this.#begin(alive[i], outcome, claimedAt);
  }

  /** Jobs that BullMQ gave up are only marked by it; failing them is ours. */
  async #refuseGivenUp(claims: readonly Claim[]): Promise<Claim[]> {
    const alive: Claim[] = [];
    for (const claim of claims) {
      if (claim.deferredFailure === undefined) alive.push(claim);
      else await giveUp(this.#options, claim, STALLED_TOO_OFTEN);
    }
    return alive;
  }

  async #begin(claim: Claim, outcome: Outcome, claimedAt: number): Promise<void> {
    const { queues, leases, runs, workflows, log } = this.#options;
    const record = outcome.record;
    if (!record) {
      // Its end came while it waited, or its record is gone: only the queue entry is left to close.
      log.info({ job: claim.jobId, code: outcome.code, state: outcome.state }, 'claimed a job that is over');
      if (outcome.code === 'overtaken' && outcome.state) this.#options.onUnrun(claim.queue, outcome.state);
      leases.remove(claim.jobId);
      await queues.of(claim.queue).complete(claim);
      return;
    }
    if (outcome.attempt > MAX_ATTEMPTS) return giveUp(this.#options, claim, TRIED_TOO_OFTEN);
    let run: JobRun;
    try {
      run = this.#options.runFor(claim, record, claimedAt);
    } catch (error) {
      return giveUp(this.#options, claim, toPlainError(error));
    }
    const { prompt } = record.input;
    log.info({ job: record.id, queue: claim.queue, attempt: outcome.attempt, prompt }, 'job started');
    if (record.parent) await workflows.begin(record.parent);
    runs.add(run);
    this.#options.onStarted(run, outcome);
    if (this.#opening.get(record.id)) runs.stop(run, { kind: 'canceled' });
  }
}

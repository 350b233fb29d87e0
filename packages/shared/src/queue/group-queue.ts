/**
 * One group queue in BullMQ, without BullMQ's Worker: a Worker holds a blocking connection per queue and takes one job
 * at a time. All group queues of a process share one connection.
 *
 * What BullMQ 6.7 leaves to code that claims jobs itself (each point has a test in test/queue/bullmq-facts.test.ts):
 * leases must be renewed (leases.ts) and stalled jobs looked for (janitor.ts); past maxStalledCount a job is only marked
 * with `deferredFailure` and handed out again (the claimer must fail it: the worker's intake, the workflow runner); a job
 * handed back wakes no worker (handBack adds the marker); jobs without a priority run before priority 1 (every job has
 * one); jobs handed back or recovered lose their score (`restore` gives it back).
 */
import { readFileSync } from 'node:fs';
import type { JobJson, MinimalJob, RedisQueueBackend } from 'bullmq';
import type { JobId, LeaseToken } from '../base/ids.ts';
import { defineScript, type Redis, type Script } from '../redis/index.ts';
import { KEEP_FINISHED } from './bull-scripts.ts';
import { bullPriority } from './score.ts';

export const PLACE_LUA = readFileSync(new URL('./place.lua', import.meta.url), 'utf8');
const RESTORE_LUA = readFileSync(new URL('./restore.lua', import.meta.url), 'utf8');

/** The data of a job in BullMQ: what the admin page shows, and nothing confidential. The record has the rest. */
export interface QueuedJob {
  readonly id: JobId;
  readonly type: string;
  readonly model: string;
  readonly tenant: string;
  /** Redis's clock, ms since the epoch. Without it the job counts as added now, by the clock of this process. */
  readonly admitted_at?: number | undefined;
}

/** As BullMQ keeps it. */
export const queuedData = (job: QueuedJob): string => `{"id":"${job.id}",${dataAfterId(job)}`;

/** What other jobs of a group and a tenant have, too. */
export const dataAfterId = ({ type, model, tenant }: Omit<QueuedJob, 'id'>): string =>
  JSON.stringify({ type, model, tenant }).slice(1);

/** A job this process may work on while the lease lasts. */
export interface Lease {
  readonly jobId: JobId;
  readonly queue: string;
  readonly token: LeaseToken;
}

export interface Claim extends Lease {
  /** BullMQ gave this job up (it stalled too often, or a child of its flow failed); the claimer must fail it. */
  readonly deferredFailure: string | undefined;
}

/** BullMQ's error codes for a lost lease: the job or its lock is gone, or another process holds the lock. */
const LEASE_LOST_CODES = new Set([-1, -2, -3, -6]);

export interface GroupQueueOptions {
  readonly name: string;
  readonly leaseMs: number;
  readonly waitingKey: string | undefined;
}

export class GroupQueue {
  readonly name: string;
  /** The index that lists this queue while it has waiting jobs (group-queues.ts); undefined when it is no group queue. */
  readonly waitingKey: string | undefined;
  readonly #backend: RedisQueueBackend;
  readonly #redis: Redis;
  readonly #leaseMs: number;
  readonly #restore: Script;
  readonly #place: Script;

  constructor(backend: RedisQueueBackend, redis: Redis, options: GroupQueueOptions) {
    this.#backend = backend;
    this.#redis = redis;
    this.#leaseMs = options.leaseMs;
    this.#restore = defineScript(redis, 'lehrRestore', RESTORE_LUA);
    this.#place = defineScript(redis, 'lehrPlace', PLACE_LUA);
    this.name = options.name;
    this.waitingKey = options.waitingKey;
  }

  /** The sorted set that idle workers block on; BullMQ adds to it when a job arrives. */
  get marker(): string {
    return this.#backend.keys.marker;
  }

  get waitKey(): string {
    return this.#backend.keys.wait;
  }

  get prioritizedKey(): string {
    return this.#backend.keys.prioritized;
  }

  /** The list of claimed jobs. */
  get activeKey(): string {
    return this.#backend.keys.active;
  }

  jobKey(id: JobId): string {
    return this.#backend.toKey(id);
  }

  /**
   * Adds a waiting job with its score (score.ts), in one round trip; adding an id again changes nothing. With a
   * parent it becomes a child in that flow: the parent waits for it, and is released at once if it fails. Resolves with its
   * position, undefined when it was claimed meanwhile.
   */
  async add(
    job: QueuedJob,
    score: number,
    parent?: { readonly id: JobId; readonly queue: GroupQueue },
  ): Promise<number | undefined> {
    const parentKey = parent?.queue.jobKey(parent.id);
    const link = parent && {
      parent: { id: parent.id, queueKey: parent.queue.#backend.qualifiedName, fpof: true },
      parentKey,
    };
    // This call puts BullMQ's script on the connection before it first waits, and so before the command below.
    const added = this.#backend.addJobToTransaction(
      await this.#backend.client,
      { ...this.#newJob(job, score), ...link },
      job.id,
      parentKey === undefined ? {} : { parentKey, parentDependenciesKey: `${parentKey}:dependencies` },
    );
    // BullMQ scores the job by its priority; this script replaces that score.
    const place = () =>
      this.#place.run(
        [this.prioritizedKey, this.waitKey, ...this.#indexKeys],
        [job.id, score, this.name],
      ) as Promise<[changed: number, position: number | null]>;
    const [, [changed, position]] = await Promise.all([added, place()]);
    if (changed > 0) return position ?? undefined;
    // A server that has lost BullMQ's script gets it a round trip later, and so after this one.
    return (await place())[1] ?? undefined;
  }

  /** Adds the parent of a flow: it waits until every child added to it has ended. */
  async addParent(job: QueuedJob, score: number): Promise<undefined> {
    await this.#backend.addJob(this.#newJob(job, score), job.id, { addToWaitingChildren: true });
  }

  #newJob({ id, type, model, tenant, admitted_at = Date.now() }: QueuedJob, score: number): JobJson {
    const priority = bullPriority(score);
    return {
      id,
      name: type,
      data: queuedData({ id, type, model, tenant }),
      opts: { jobId: id, priority, removeOnComplete: KEEP_FINISHED, removeOnFail: KEEP_FINISHED },
      timestamp: Math.floor(admitted_at),
      priority,
      progress: 0,
      attemptsMade: 0,
      attemptsStarted: 0,
      stalledCounter: 0,
      failedReason: '""',
      returnvalue: '""',
    };
  }

  /** The next claim takes this job, if it still waits. */
  async bringForward(id: JobId): Promise<void> {
    await this.#redis.zadd(this.prioritizedKey, 'XX', -1, id);
  }

  /** Claims the next job with this token as its lease; undefined when none waits. */
  async claim(token: LeaseToken): Promise<Claim | undefined> {
    const [job, id] = await this.#backend.moveToActive(token, token);
    if (!job || !id) return undefined;
    return {
      jobId: id as JobId,
      queue: this.name,
      token,
      deferredFailure: job.deferredFailure,
    };
  }

  /** Renews leases in one command; returns the jobs whose lease is lost. */
  async renew(leases: readonly Lease[]): Promise<JobId[]> {
    const lost = await this.#backend.extendLocks(
      leases.map(({ jobId }) => jobId),
      leases.map(({ token }) => token),
      this.#leaseMs,
    );
    return lost as JobId[];
  }

  /** False when the lease was lost: the job may belong to another worker, and nothing was changed. */
  complete(claim: Claim): Promise<boolean> {
    return unlessLeaseLost(
      this.#backend.moveToCompleted(finishing(claim), null, KEEP_FINISHED, claim.token, false),
    );
  }

  /** As `complete`, with a reason for the admin page. */
  fail(claim: Claim, reason: string): Promise<boolean> {
    return unlessLeaseLost(
      this.#backend.moveToFailed(finishing(claim), reason, KEEP_FINISHED, claim.token, false),
    );
  }

  /** Returns an unfinished job to its place in the queue and wakes a worker for it. False when the lease was lost. */
  async handBack(lease: Lease, score: number): Promise<boolean> {
    const done = await unlessLeaseLost(this.#backend.moveJobFromActiveToWait(lease.jobId, lease.token));
    if (!done) return false;
    await this.restore([[lease.jobId, score]]);
    await this.wake();
    return true;
  }

  /**
   * Gives waiting jobs their scores back. BullMQ puts a job that is handed back or recovered before all others, whatever its
   * class; a job that was claimed meanwhile is left alone.
   */
  async restore(scores: readonly (readonly [id: JobId, score: number])[]): Promise<void> {
    if (scores.length === 0) return;
    await this.#restore.run(
      [this.waitKey, this.prioritizedKey, ...this.#indexKeys],
      [this.name, ...scores.flat()],
    );
  }

  get #indexKeys(): string[] {
    return this.waitingKey === undefined ? [] : [this.waitingKey];
  }

  /** Wakes one blocked worker to look for waiting jobs here. */
  async wake(): Promise<void> {
    await this.#redis.zadd(this.marker, 0, '0');
  }

  /** Moves jobs whose lease ran out back into the queue; returns their ids. BullMQ needs two checks to find one. */
  async recoverStalled(): Promise<JobId[]> {
    return (await this.#backend.moveStalledJobsToWait()) as JobId[];
  }

  /**
   * Removes a job that waits or has finished, with all its keys. Returns false for a claimed job, which stays: its worker learns of
   * the end from the record.
   */
  async remove(id: JobId): Promise<boolean> {
    return (await this.#backend.remove(id, false)) === 1;
  }

  /** Place in line counted from 1; undefined when the job is not waiting. */
  async position(id: JobId): Promise<number | undefined> {
    const [rank, ahead] = await Promise.all([
      this.#redis.zrank(this.prioritizedKey, id),
      this.#redis.llen(this.waitKey),
    ]);
    if (rank !== null) return Number(rank) + ahead + 1;
    if (ahead === 0) return undefined;
    // The job was handed back: it is in the wait list, which is taken from its right end.
    const front = await this.#redis.lpos(this.waitKey, id, 'RANK', -1);
    return front === null ? undefined : Math.max(1, ahead - front);
  }
}

/** The two fields that BullMQ reads from a job that ends. Without `attempts` its script fails after it moved the job. */
const finishing = ({ jobId }: Claim): MinimalJob =>
  ({ id: jobId, opts: { attempts: 1 } }) as Partial<MinimalJob> as MinimalJob;

/** Resolves with whether the lease was still held; rejects with every other error. */
async function unlessLeaseLost(move: Promise<unknown>): Promise<boolean> {
  try {
    await move;
    return true;
  } catch (error) {
    const code = (error as { code?: number }).code;
    if (code !== undefined && LEASE_LOST_CODES.has(code)) return false;
    throw error;
  }
}

/**
 * One group queue in BullMQ, driven by hand: no BullMQ Worker runs here, because a Worker holds a blocking
 * connection per queue and takes one job at a time. All group queues of a process share one connection.
 *
 * What BullMQ 6.7 leaves to whoever claims by hand (each has a test in test/queue/bullmq-facts.test.ts):
 * nobody renews the lease (leases.ts) or looks for stalled jobs (stalled.ts); past maxStalledCount a job is only
 * marked with `deferredFailure` and handed out again (claim.ts checks it); a job handed back into the prioritized
 * set wakes nobody (handBack adds the marker); unprioritised jobs run before priority 1 (every job has a rank).
 */
import {
  createRedisBackend,
  type JobJson,
  type JobsOptions,
  type MinimalJob,
  type RedisQueueBackend,
} from 'bullmq';
import type { JobId, LeaseToken } from '../ids.ts';
import type { Keys, Redis } from '../redis/index.ts';

export interface LeaseTimes {
  /** How long a claim lasts without renewal. Long: fast recovery comes from seeing a child die, not from this. */
  readonly leaseMs: number;
  /** At least this long between two looks for stalled jobs of one queue, whoever looks. */
  readonly stalledCheckMs: number;
}

export const DEFAULT_LEASE_TIMES: LeaseTimes = { leaseMs: 30_000, stalledCheckMs: 5_000 };

/** How often a job may be found without a lease before it is given up (attempts of the record are capped as well). */
const MAX_STALLED_COUNT = 5;
/** Finished BullMQ jobs are kept for the admin page only; the record is what callers read. */
const KEEP_FINISHED = { age: 3600, count: 1000 };

/** What a job carries in the queue: enough for the admin page, nothing a stranger should read. The record has the rest. */
export interface QueuedJob {
  readonly id: JobId;
  readonly type: string;
  readonly model: string;
  readonly tenant: string;
}

/** A job this process may work on while the lease lasts. */
export interface Lease {
  readonly jobId: JobId;
  readonly queue: string;
  readonly token: LeaseToken;
}

export interface Claim extends Lease {
  /** BullMQ gave this job up (it stalled too often, or a child of its flow failed); the claimer must fail it. */
  readonly deferredFailure: string | undefined;
  readonly options: JobsOptions;
}

/** BullMQ's answers when the lease is no longer ours: the job or its lock is gone, or somebody else holds it. */
const LEASE_LOST_CODES = new Set([-1, -2, -3, -6]);

export class GroupQueue {
  readonly name: string;
  readonly #backend: RedisQueueBackend;
  readonly #redis: Redis;
  readonly #leaseMs: number;

  constructor(backend: RedisQueueBackend, redis: Redis, name: string, leaseMs: number) {
    this.#backend = backend;
    this.#redis = redis;
    this.#leaseMs = leaseMs;
    this.name = name;
  }

  /** The sorted set that wakes whoever blocks on it when a job arrives. */
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
   * Adds a waiting job; adding an id again changes nothing. `rank` is BullMQ's priority: 1..2097151, smaller goes first. With a
   * parent it is a child of that flow: the parent waits for it, and is released at once when it fails.
   */
  async add(
    job: QueuedJob,
    rank: number,
    parent?: { readonly id: JobId; readonly queue: GroupQueue },
  ): Promise<void> {
    const parentKey = parent?.queue.jobKey(parent.id);
    await this.#backend.addJob(
      {
        ...this.#newJob(job, rank),
        ...(parent && {
          parent: { id: parent.id, queueKey: parent.queue.#backend.qualifiedName, fpof: true },
          parentKey,
        }),
      },
      job.id,
      parentKey === undefined ? {} : { parentKey, parentDependenciesKey: `${parentKey}:dependencies` },
    );
  }

  /** Adds the parent of a flow: it waits until every child added to it has ended. */
  async addParent(job: QueuedJob, rank: number): Promise<void> {
    await this.#backend.addJob(this.#newJob(job, rank), job.id, { addToWaitingChildren: true });
  }

  #newJob({ id, type, model, tenant }: QueuedJob, rank: number): JobJson {
    return {
      id,
      name: type,
      data: JSON.stringify({ id, type, model, tenant }),
      opts: { jobId: id, priority: rank, removeOnComplete: KEEP_FINISHED, removeOnFail: KEEP_FINISHED },
      timestamp: Date.now(),
      priority: rank,
      progress: 0,
      attemptsMade: 0,
      attemptsStarted: 0,
      stalledCounter: 0,
      failedReason: '""',
      returnvalue: '""',
    };
  }

  /** Takes the next job under a lease of this token; undefined when none waits. */
  async claim(token: LeaseToken): Promise<Claim | undefined> {
    const [job, id] = await this.#backend.moveToActive(token, token);
    if (!job || !id) return undefined;
    return {
      jobId: id as JobId,
      queue: this.name,
      token,
      deferredFailure: job.deferredFailure,
      options: job.opts,
    };
  }

  /** Renews leases in one command; returns the ids that are lost. */
  async renew(leases: readonly Lease[]): Promise<JobId[]> {
    const lost = await this.#backend.extendLocks(
      leases.map(({ jobId }) => jobId),
      leases.map(({ token }) => token),
      this.#leaseMs,
    );
    return lost as JobId[];
  }

  /** False when the lease was lost: somebody else has the job now, and nothing was changed. */
  complete(claim: Claim): Promise<boolean> {
    return kept(this.#backend.moveToCompleted(finishing(claim), null, KEEP_FINISHED, claim.token, false));
  }

  /** As `complete`, with a reason for the admin page. */
  fail(claim: Claim, reason: string): Promise<boolean> {
    return kept(this.#backend.moveToFailed(finishing(claim), reason, KEEP_FINISHED, claim.token, false));
  }

  /** Returns an unfinished job to the front of its queue and wakes a worker for it. False when the lease was lost. */
  async handBack(lease: Lease): Promise<boolean> {
    const done = await kept(this.#backend.moveJobFromActiveToWait(lease.jobId, lease.token));
    if (done) await this.wake();
    return done;
  }

  /** Says that jobs may be waiting here: one blocked worker looks. */
  async wake(): Promise<void> {
    await this.#redis.zadd(this.marker, 0, '0');
  }

  /** Moves jobs whose lease ran out back into the queue; returns their ids. Two looks are needed to see one. */
  async recoverStalled(): Promise<JobId[]> {
    return (await this.#backend.moveStalledJobsToWait()) as JobId[];
  }

  /** Takes a waiting job out of the queue. A job under a lease stays: its holder learns the end from the record. */
  async remove(id: JobId): Promise<void> {
    await this.#backend.remove(id, false);
  }

  /** Place in line counted from 1; undefined when the job is not waiting. */
  async position(id: JobId): Promise<number | undefined> {
    const [rank, ahead] = await Promise.all([
      this.#redis.zrank(this.prioritizedKey, id),
      this.#redis.llen(this.waitKey),
    ]);
    if (rank !== null) return Number(rank) + ahead + 1;
    if (ahead === 0) return undefined;
    // One that was handed back. The list is taken from its right end.
    const front = await this.#redis.lpos(this.waitKey, id, 'RANK', -1);
    return front === null ? undefined : Math.max(1, ahead - front);
  }
}

/** Group queues by name, all over one connection. */
export class GroupQueues {
  readonly #redis: Redis;
  readonly #root: RedisQueueBackend;
  readonly #times: LeaseTimes;
  readonly #known = new Map<string, GroupQueue>();

  private constructor(redis: Redis, root: RedisQueueBackend, times: LeaseTimes) {
    this.#redis = redis;
    this.#root = root;
    this.#times = times;
  }

  /** Resolves when the connection is up and knows BullMQ's scripts, which transactions need beforehand. */
  static async open(redis: Redis, keys: Keys, times: LeaseTimes = DEFAULT_LEASE_TIMES): Promise<GroupQueues> {
    const options = {
      connection: redis,
      prefix: keys.prefix,
      lockDuration: times.leaseMs,
      maxStalledCount: MAX_STALLED_COUNT,
      stalledInterval: times.stalledCheckMs,
      skipVersionCheck: true,
    };
    const root = createRedisBackend('root', options, { withBlockingConnection: false });
    root.on('error', () => {});
    await root.waitUntilReady();
    return new GroupQueues(redis, root, times);
  }

  get leaseMs(): number {
    return this.#times.leaseMs;
  }

  of(name: string): GroupQueue {
    let queue = this.#known.get(name);
    if (!queue) {
      const backend = this.#root.forQueue(name) as RedisQueueBackend;
      queue = new GroupQueue(backend, this.#redis, name, this.#times.leaseMs);
      this.#known.set(name, queue);
    }
    return queue;
  }
}

/** The two things BullMQ reads from a job that ends. Without `attempts` its script fails after it moved the job. */
const finishing = (claim: Claim): MinimalJob =>
  ({ id: claim.jobId, opts: { attempts: 1, ...claim.options } }) as Partial<MinimalJob> as MinimalJob;

async function kept(move: Promise<unknown>): Promise<boolean> {
  try {
    await move;
    return true;
  } catch (error) {
    const code = (error as { code?: number }).code;
    if (code !== undefined && LEASE_LOST_CODES.has(code)) return false;
    throw error;
  }
}

/**
 * Recovery that one process must do for all: every API and every worker runs a janitor, and the one that holds the lock
 * does the rounds. So the jobs of a queue that no live worker serves are recovered as well.
 */
import type { Clock } from '../base/clock.ts';
import { every } from '../base/every.ts';
import { isJobId, type JobId } from '../base/ids.ts';
import type { Log } from '../base/log.ts';
import { readFleet } from '../fleet/fleet.ts';
import { type JobOutline, type RecordStore, UnreadableList } from '../records/index.ts';
import { type Keys, type Redis, redisNow } from '../redis/index.ts';
import { Failures } from './failures.ts';
import type { GroupQueue } from './group-queue.ts';
import { type GroupQueues, indexWaiting } from './group-queues.ts';
import { expireOverdue, requeueLost } from './reconciler.ts';
import { retireIdleGroups } from './retire.ts';
import { firstScore } from './score.ts';
import { WorkLock } from './work-lock.ts';
import { WORKFLOW_QUEUE, WorkflowRunner } from './workflow-runner.ts';

/** What a janitor does, as its metric names it. */
export const JANITOR_ACTIONS = ['recovered', 'expired', 'retired', 'requeued'] as const;
export type JanitorAction = (typeof JANITOR_ACTIONS)[number];

export interface JanitorOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly queues: GroupQueues;
  readonly records: RecordStore;
  readonly clock: Clock;
  readonly log: Log;
  /** Between two rounds. */
  readonly everyMs: number;
  /** Between two searches for records without a job; they look at every live record (suspects.lua). */
  readonly reconcileEveryMs: number;
  /** How long a group must be idle until it is retired; an hour by default. */
  readonly groupIdleMs?: number;
  /** Called for every waiting job that this janitor expired: no worker reports its end. */
  readonly onExpired?: (job: JobOutline) => void;
  /** Called after each step that did something, with the number of jobs or groups. */
  readonly onDone?: (action: JanitorAction, count: number) => void;
}

export class Janitor {
  readonly #options: JanitorOptions;
  readonly #lock: WorkLock;
  readonly #workflows: WorkflowRunner;
  #stop: (() => Promise<void>) | undefined;

  constructor(options: JanitorOptions) {
    this.#options = options;
    this.#workflows = new WorkflowRunner(options);
    // For one or two missed rounds, so a dead process soon loses it.
    this.#lock = new WorkLock(options.redis, options.keys.janitor, options.everyMs * 3);
  }

  start(): void {
    const { everyMs } = this.#options;
    const work = (signal: AbortSignal) =>
      this.#lock.hold((lost) => this.round(AbortSignal.any([lost, signal])));
    const failed = 'janitor round failed; trying again';
    this.#stop ??= every(everyMs, work, { ...this.#options, firstMs: 0, failed });
  }

  /** Resolves when the current round is over and the lock is released. */
  async stop(): Promise<void> {
    await this.#stop?.();
    // Without Redis, the lock expires.
    await this.#lock.release().catch(() => {});
  }

  /**
   * One round, whether this janitor holds the lock or not. It ends early when the signal is aborted. A step that fails, such as
   * for one queue, does not keep the others from being done; its error is thrown after them.
   */
  async round(signal?: AbortSignal): Promise<void> {
    const failures = new Failures();
    await failures.try(() => this.#recoverStalled());
    await failures.try(() => this.#expireOverdue(signal));
    await failures.try(() => this.#workflows.sweep(signal));
    await failures.try(() => this.#retireIdleGroups(signal));
    if (!signal?.aborted && (await this.#reconcileIsDue())) {
      await failures.try(() => this.#requeueLost(signal));
      await failures.try(() => this.#reviewUnreadable());
    }
    failures.throwAny('steps of the janitor');
  }

  async #recoverStalled(): Promise<void> {
    const { redis, keys, queues, records, log } = this.#options;
    const stalled = await recoverStalled(redis, keys, queues, records);
    this.#done('recovered', stalled.length);
    if (stalled.length > 0) log.warn({ jobs: stalled }, 'recovered jobs whose worker was lost');
  }

  async #expireOverdue(signal: AbortSignal | undefined): Promise<void> {
    const { redis, keys, queues, records, log, onExpired } = this.#options;
    const expired = await expireOverdue(redis, keys, queues, records, await redisNow(redis), signal);
    this.#done('expired', expired.length);
    if (expired.length > 0) log.info({ jobs: expired.map(({ id }) => id) }, 'jobs expired in the queue');
    for (const job of expired) onExpired?.(job);
  }

  async #retireIdleGroups(signal: AbortSignal | undefined): Promise<void> {
    const { redis, keys, groupIdleMs, log } = this.#options;
    const retired = await retireIdleGroups(redis, keys, await redisNow(redis), groupIdleMs, signal);
    this.#done('retired', retired.length);
    if (retired.length > 0) log.info({ groups: retired }, 'idle groups were retired');
  }

  async #requeueLost(signal: AbortSignal | undefined): Promise<void> {
    const { redis, keys, queues, records, log } = this.#options;
    const lost = await requeueLost(redis, keys, queues, records, await redisNow(redis), signal);
    this.#done('requeued', lost.length);
    if (lost.length > 0) log.warn({ jobs: lost }, 'requeued jobs that were missing from their queue');
  }

  async #reviewUnreadable(): Promise<void> {
    const { redis, keys, records, log } = this.#options;
    const unreadable = await reviewUnreadable(redis, keys, records);
    if (unreadable.length > 0)
      log.warn({ ids: unreadable }, 'jobs or workers are left alone: they cannot be read');
  }

  #done(action: JanitorAction, count: number): void {
    if (count > 0) this.#options.onDone?.(action, count);
  }

  /** Counted in Redis, so that a janitor that takes over does not search all records at once again. */
  async #reconcileIsDue(): Promise<boolean> {
    const { redis, keys, reconcileEveryMs } = this.#options;
    return (await redis.set(keys.reconciled, '1', 'PX', reconcileEveryMs, 'NX')) === 'OK';
  }
}

/** Of a log line. */
const SHOWN = 20;

/**
 * Removes from the list of unreadable records and reports what is gone, and what this process can read.
 * Returns the first of the ids that stay in the list.
 */
export async function reviewUnreadable(redis: Redis, keys: Keys, records: RecordStore): Promise<string[]> {
  const list = new UnreadableList(redis, keys);
  const ids = await list.ids();
  if (ids.length === 0) return [];
  const { unreadable } = await records.find(ids.filter(isJobId));
  const readable = (await readFleet(redis, keys)).map(({ id }): string => id);
  const reporting = await redis.smembers(keys.workers);
  const staying = new Set([
    ...unreadable.map(({ id }) => id),
    ...reporting.filter((id) => !readable.includes(id)),
  ]);
  await list.remove(ids.filter((id) => !staying.has(id)));
  return ids.filter((id) => staying.has(id)).slice(0, SHOWN);
}

/**
 * Recovery for every group queue, also those that no live worker serves: a job whose lease ran out goes
 * back to its place in the queue, and its record back to queued.
 * Returns the recovered ids. BullMQ needs two checks to tell a stalled job from one that is being renewed. A queue that fails
 * does not keep the others from being recovered; its error is thrown after them.
 */
export async function recoverStalled(
  redis: Redis,
  keys: Keys,
  queues: GroupQueues,
  records: RecordStore,
): Promise<JobId[]> {
  const groups = await redis.smembers(keys.groups);
  const rounds = await Promise.allSettled(groups.map((group) => recoverGroup(queues.of(group), records)));
  await indexWaiting(
    redis,
    groups.map((group) => queues.of(group)),
  );
  // Flows whose process died while closing them; a workflow has no attempt to requeue.
  await queues.of(WORKFLOW_QUEUE).recoverStalled();
  const failures = rounds.flatMap((round) => (round.status === 'rejected' ? [round.reason] : []));
  if (failures.length > 0) throw new AggregateError(failures, `${failures.length} queues were not recovered`);
  return rounds.flatMap((round) => (round.status === 'fulfilled' ? round.value : []));
}

async function recoverGroup(queue: GroupQueue, records: RecordStore): Promise<JobId[]> {
  const ids = await queue.recoverStalled();
  if (ids.length === 0) return ids;
  const found = (await records.outlines(ids)).records.filter((record) => record !== undefined);
  await queue.restore(found.map(({ id, score, priority }) => [id, score ?? firstScore(priority)]));
  // This move names no lease, so it is refused once a worker holds one: it cannot disturb a new attempt.
  await records.apply(ids.map((id) => ({ move: 'requeue', id })));
  return ids;
}

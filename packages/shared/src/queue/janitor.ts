/**
 * The recovery that must happen somewhere, but needs to happen only once: every API and every worker runs a janitor, and
 * the one that holds the lock does the rounds. A queue that no process watches would otherwise never be rescued.
 */
import { randomUUID } from 'node:crypto';
import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import type { JobRecord, RecordStore } from '../records/index.ts';
import { type Keys, type Redis, redisNow } from '../redis/index.ts';
import type { GroupQueues } from './group-queue.ts';
import { expireOverdue, requeueLost } from './reconciler.ts';
import { recoverStalled } from './stalled.ts';
import { WorkflowRunner } from './workflow-runner.ts';

export interface JanitorOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly queues: GroupQueues;
  readonly records: RecordStore;
  readonly clock: Clock;
  readonly log: Log;
  /** Between two rounds. */
  readonly everyMs: number;
  /** Between two searches for records without a job; they read every live record. */
  readonly reconcileEveryMs: number;
  /** A job's deadline passed while it waited, and this janitor ended it: no worker will ever tell of that end. */
  readonly onExpired?: (job: JobRecord) => void;
}

export class Janitor {
  readonly #options: JanitorOptions;
  readonly #token = randomUUID();
  readonly #stop = new AbortController();
  readonly #workflows: WorkflowRunner;
  #running: Promise<void> | undefined;
  #reconciledAt = Number.NEGATIVE_INFINITY;

  constructor(options: JanitorOptions) {
    this.#options = options;
    this.#workflows = new WorkflowRunner(options);
  }

  start(): void {
    this.#running ??= this.#rounds();
  }

  /** Resolves when the round under way is over and the lock is free for another janitor. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    const { redis, keys } = this.#options;
    if ((await redis.get(keys.janitor).catch(() => null)) === this.#token) await redis.del(keys.janitor);
  }

  async #rounds(): Promise<void> {
    const { clock, everyMs, log } = this.#options;
    while (!this.#stop.signal.aborted) {
      try {
        if (await this.#isMine()) await this.round();
      } catch (error) {
        log.warn({ error }, 'janitor round failed; trying again');
      }
      await clock.sleep(everyMs, this.#stop.signal);
    }
  }

  /** One round, whoever holds the lock. */
  async round(): Promise<void> {
    const { redis, keys, queues, records, clock, log, reconcileEveryMs, onExpired } = this.#options;
    const stalled = await recoverStalled(redis, keys, queues, records);
    if (stalled.length > 0) log.warn({ jobs: stalled }, 'jobs recovered from a worker that went away');
    const expired = await expireOverdue(redis, keys, queues, records, await redisNow(redis));
    if (expired.length > 0) log.info({ jobs: expired.map(({ id }) => id) }, 'jobs expired in the queue');
    for (const job of expired) onExpired?.(job);
    await this.#workflows.sweep();
    if (clock.monotonic() - this.#reconciledAt < reconcileEveryMs) return;
    this.#reconciledAt = clock.monotonic();
    const lost = await requeueLost(redis, keys, queues, records, await redisNow(redis));
    if (lost.length > 0) log.warn({ jobs: lost }, 'records without a queued job put back');
  }

  /** Takes or keeps the lock; it outlives a missed round or two, not a dead process. */
  async #isMine(): Promise<boolean> {
    const { redis, keys, everyMs } = this.#options;
    const ttl = everyMs * 3;
    if ((await redis.set(keys.janitor, this.#token, 'PX', ttl, 'NX')) === 'OK') return true;
    if ((await redis.get(keys.janitor)) !== this.#token) return false;
    await redis.pexpire(keys.janitor, ttl);
    return true;
  }
}

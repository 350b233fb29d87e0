/**
 * Recovery that one process must do for all: every API and every worker runs a janitor, and the one that holds the lock
 * does the rounds. So the jobs of a queue that no live worker serves are recovered as well.
 */
import { randomUUID } from 'node:crypto';
import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import type { JobRecord, RecordStore } from '../records/index.ts';
import { type Keys, type Redis, redisNow } from '../redis/index.ts';
import type { GroupQueues } from './group-queues.ts';
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
  /** Called for every waiting job that this janitor expired: no worker reports its end. */
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

  /** Resolves when the current round is over and the lock is released. */
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
        if (await this.#holdsLock()) await this.round();
      } catch (error) {
        log.warn({ error }, 'janitor round failed; trying again');
      }
      await clock.sleep(everyMs, this.#stop.signal);
    }
  }

  /** One round, whether this janitor holds the lock or not. */
  async round(): Promise<void> {
    const { redis, keys, queues, records, clock, log, reconcileEveryMs, onExpired } = this.#options;
    const stalled = await recoverStalled(redis, keys, queues, records);
    if (stalled.length > 0) log.warn({ jobs: stalled }, 'recovered jobs whose worker was lost');
    const expired = await expireOverdue(redis, keys, queues, records, await redisNow(redis));
    if (expired.length > 0) log.info({ jobs: expired.map(({ id }) => id) }, 'jobs expired in the queue');
    for (const job of expired) onExpired?.(job);
    await this.#workflows.sweep();
    if (clock.monotonic() - this.#reconciledAt < reconcileEveryMs) return;
    this.#reconciledAt = clock.monotonic();
    const lost = await requeueLost(redis, keys, queues, records, await redisNow(redis));
    if (lost.length > 0) log.warn({ jobs: lost }, 'requeued jobs that were missing from their queue');
  }

  /** Takes or renews the lock. It lasts for one or two missed rounds, so a dead process soon loses it. */
  async #holdsLock(): Promise<boolean> {
    const { redis, keys, everyMs } = this.#options;
    const ttl = everyMs * 3;
    if ((await redis.set(keys.janitor, this.#token, 'PX', ttl, 'NX')) === 'OK') return true;
    if ((await redis.get(keys.janitor)) !== this.#token) return false;
    await redis.pexpire(keys.janitor, ttl);
    return true;
  }
}

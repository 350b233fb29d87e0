/** All group queues of a process, over one connection, and the lease times they share. */
import { createRedisBackend, type RedisQueueBackend } from 'bullmq';
import { RecentlyUsed } from '../base/recently-used.ts';
import type { Keys, Redis } from '../redis/index.ts';
import { GroupQueue } from './group-queue.ts';
import { waitingKey } from './waiting-index.ts';

export interface LeaseTimes {
  /** How long a claim lasts without renewal. Long, because a parent that sees its engine process die recovers faster. */
  readonly leaseMs: number;
  /** Shortest time between two checks for stalled jobs of one queue, by all processes together. */
  readonly stalledCheckMs: number;
}

export const DEFAULT_LEASE_TIMES: LeaseTimes = { leaseMs: 30_000, stalledCheckMs: 5_000 };

/** How often a lease of a job may run out before BullMQ gives the job up (the record's attempts are capped as well). */
const MAX_STALLED_COUNT = 5;

/** Callers choose the groups, and the retirement of one may be missed. A forgotten queue is made again: it holds no state. */
const MAX_KNOWN = 1000;

/** Group queues by name, all over one connection. */
export class GroupQueues {
  readonly #redis: Redis;
  readonly #keys: Keys;
  readonly #root: RedisQueueBackend;
  readonly #times: LeaseTimes;
  readonly #known = new RecentlyUsed<string, GroupQueue>(MAX_KNOWN);

  private constructor(redis: Redis, keys: Keys, root: RedisQueueBackend, times: LeaseTimes) {
    this.#redis = redis;
    this.#keys = keys;
    this.#root = root;
    this.#times = times;
  }

  /** Resolves when the connection is up and BullMQ's scripts are loaded, which transactions need beforehand. */
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
    return new GroupQueues(redis, keys, root, times);
  }

  get leaseMs(): number {
    return this.#times.leaseMs;
  }

  /** How many queues are remembered. */
  get known(): number {
    return this.#known.size;
  }

  /** The group was retired. */
  forget(name: string): void {
    this.#known.delete(name);
  }

  of(name: string): GroupQueue {
    let queue = this.#known.get(name);
    if (!queue) {
      const backend = this.#root.forQueue(name) as RedisQueueBackend;
      const options = { name, leaseMs: this.#times.leaseMs, waitingKey: waitingKey(this.#keys, name) };
      queue = new GroupQueue(backend, this.#redis, options);
      this.#known.set(name, queue);
    }
    return queue;
  }
}

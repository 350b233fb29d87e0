/**
 * All group queues of a process, over one connection, the lease times they share, and the index of those that may have waiting jobs.
 */
import { readFileSync } from 'node:fs';
import { createRedisBackend, type RedisQueueBackend } from 'bullmq';
import { RecentlyUsed } from '../base/recently-used.ts';
import { formatModelRef, parseGroupQueueName } from '../contracts/group.ts';
import { defineScript, type Keys, type Redis } from '../redis/index.ts';
import { GroupQueue } from './group-queue.ts';

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

const INDEX_LUA = readFileSync(new URL('./index-waiting.lua', import.meta.url), 'utf8');
/** Queues per call, so that Redis serves other commands in between. */
const CHUNK = 200;

/** The key of the index that has the queue; undefined for a queue that is no group queue. */
export function waitingKey(keys: Keys, queue: string): string | undefined {
  const group = parseGroupQueueName(queue);
  return group && keys.waiting(formatModelRef(group.model));
}

/**
 * The index in which workers look for work: for each model, the group queues that may have waiting jobs. A group is added with
 * its job, in most cases by the same script (accept.lua), and removed by a look that finds it empty (heads.lua). Where a command follows
 * instead, and a crash comes between, the next round of the janitor adds it.
 * Adds the groups with waiting jobs that the index lacks.
 */
export async function indexWaiting(redis: Redis, queues: readonly GroupQueue[]): Promise<void> {
  const script = defineScript(redis, 'lehrIndexWaiting', INDEX_LUA);
  for (let i = 0; i < queues.length; i += CHUNK) {
    const indexed = queues.slice(i, i + CHUNK).flatMap((queue) => (queue.waitingKey ? [queue] : []));
    await script.run(
      indexed.flatMap(({ waitKey, prioritizedKey, waitingKey: index = '' }) => [
        waitKey,
        prioritizedKey,
        index,
      ]),
      indexed.map(({ name }) => name),
    );
  }
}

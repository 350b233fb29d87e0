/**
 * Waiting for work and taking it, over any number of groups with two connections: one blocks on the markers of all
 * group queues at once, the other asks and claims.
 *
 * A marker wakes exactly one waiter. Whoever is woken for a group and does not serve it puts the marker back
 * (`pass`), or a job could wait although a worker sleeps.
 */
import { readFileSync } from 'node:fs';
import type { PriorityClass } from '../contracts/job.ts';
import { newLeaseToken, type WorkerId } from '../ids.ts';
import { defineScript, type Keys, type Redis, type Script } from '../redis/index.ts';
import type { Claim, GroupQueues } from './group-queue.ts';
import { classOfRank } from './rank.ts';

const HEADS_LUA = readFileSync(new URL('./heads.lua', import.meta.url), 'utf8');
/** BZPOPMIN returns by itself this often, so that a lost wake-up costs seconds and not for ever. */
const MAX_BLOCK_S = 5;
/** A wake-up nobody reads (the worker died) does not stay. */
const WAKE_TTL_S = 60;

export interface GroupHead {
  readonly queue: string;
  /** Jobs waiting. */
  readonly waiting: number;
  readonly priority: PriorityClass;
  /** Wall clock, ms: when the job at the head was added. */
  readonly since: number;
}

export interface ClaimerOptions {
  readonly commands: Redis;
  readonly blocking: Redis;
  readonly keys: Keys;
  readonly queues: GroupQueues;
  readonly worker: WorkerId;
}

export class Claimer {
  readonly #commands: Redis;
  readonly #blocking: Redis;
  readonly #queues: GroupQueues;
  readonly #worker: WorkerId;
  readonly #wakeKey: string;
  readonly #heads: Script;
  readonly #prefix: string;

  constructor(options: ClaimerOptions) {
    this.#commands = options.commands;
    this.#blocking = options.blocking;
    this.#queues = options.queues;
    this.#worker = options.worker;
    this.#wakeKey = options.keys.wake(options.worker);
    this.#prefix = options.keys.prefix;
    this.#heads = defineScript(options.commands, 'lehrHeads', HEADS_LUA);
  }

  /**
   * Blocks until one of the groups may have a job, `interrupt` is called, or MAX_BLOCK_S have passed.
   * Returns the group that woke us; the caller claims from it or passes it on.
   */
  async wait(groups: readonly string[]): Promise<string | undefined> {
    const markers = groups.map((group) => this.#queues.of(group).marker);
    const popped = await this.#blocking.bzpopmin(this.#wakeKey, ...markers, MAX_BLOCK_S);
    return popped ? groups[markers.indexOf(popped[0])] : undefined;
  }

  /** Ends a `wait` of this claimer, now or the next one. */
  async interrupt(): Promise<void> {
    await this.#commands.pipeline().zadd(this.#wakeKey, 0, '0').expire(this.#wakeKey, WAKE_TTL_S).exec();
  }

  /** Lets another worker be woken for a group that we leave. */
  async pass(group: string): Promise<void> {
    await this.#queues.of(group).wake();
  }

  /** The heads of those groups that have jobs waiting; one command. */
  async heads(groups: readonly string[]): Promise<GroupHead[]> {
    if (groups.length === 0) return [];
    const queues = groups.map((group) => this.#queues.of(group));
    const replies = (await this.#heads.run(
      queues.flatMap((queue) => [queue.waitKey, queue.prioritizedKey]),
      queues.map((queue) => `${this.#prefix}:${queue.name}:`),
    )) as [number, number, number][];
    return replies
      .map(([waiting, rank, since], i) => ({ queue: groups[i], waiting, priority: classOfRank(rank), since }))
      .filter((head) => head.waiting > 0);
  }

  /** Takes up to `count` jobs of one group, each under a lease of its own; all asked for at once. */
  async claim(group: string, count: number): Promise<Claim[]> {
    const queue = this.#queues.of(group);
    const claims = await Promise.all(
      Array.from({ length: count }, () => queue.claim(newLeaseToken(this.#worker))),
    );
    return claims.filter((claim) => claim !== undefined);
  }
}

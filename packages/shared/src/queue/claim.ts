/**
 * Waits for work and finds it, over any number of groups with two connections: one blocks on the markers of all group
 * queues at once, the other reads their heads.
 *
 * A marker wakes exactly one waiter. A worker that is woken for a group and does not claim from it puts the marker back
 * (`pass`); otherwise a job could wait while another worker is idle.
 */
import { readFileSync } from 'node:fs';
import type { JobId, WorkerId } from '../base/ids.ts';
import type { Task } from '../contracts/group.ts';
import { type PriorityClass, urgencyOf } from '../contracts/job.ts';
import { defineScript, type Keys, type Redis, type Script } from '../redis/index.ts';
import type { GroupQueues } from './group-queues.ts';
import { classOfScore } from './score.ts';

const HEADS_LUA = readFileSync(new URL('./heads.lua', import.meta.url), 'utf8');
/** The longest that BZPOPMIN blocks, so that a lost wake-up delays a job by seconds only. */
const MAX_BLOCK_S = 5;
/** Groups that one search looks at, besides those that it is to look at again; about 4 us of Redis's time each. */
const GROUPS_PER_SEARCH = 24;
/** Groups of earlier searches that the next one looks at again: those whose heads are the most urgent, then the oldest. */
const MAX_REMEMBERED = 8;
/** The wake key of a worker that died expires after this. */
const WAKE_TTL_S = 60;

/** A task, a class and a tenant that gets no more such jobs from a worker. */
export type FullTenant = `${Task} ${PriorityClass} ${string}`;

export interface GroupHead {
  readonly queue: string;
  /** Jobs waiting. */
  readonly waiting: number;
  /** Those of them of the class of the head; they are first in line. */
  readonly waitingOfClass?: number;
  readonly priority: PriorityClass;
  /** Ms that the job at the head has waited, by Redis's clock: the clocks of processes differ. */
  readonly waitedMs: number;
  /** What it was admitted with, in estimated engine ms; undefined when it has no record any more. */
  readonly costMs: number | undefined;
  /** Its tenant gets no more jobs of this task and class from this worker now, and nor do those of the jobs near it in the line. */
  readonly isOfFullTenant?: boolean;
  /** The job, where those before it in line are of such tenants. */
  readonly outOfTurn?: JobId;
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
  readonly #wakeKey: string;
  readonly #heads: Script;
  readonly #keys: Keys;
  /** The group of the last wake-up: the next search looks at it, wherever its cursor is. */
  #woken: string | undefined;
  /** Where the next search goes on in the indexes of waiting groups. */
  #cursor: { readonly index: number; readonly cursor: string } = { index: 1, cursor: '0' };
  #remembered: readonly string[] = [];
  #searchedAll = true;

  constructor(options: ClaimerOptions) {
    this.#commands = options.commands;
    this.#blocking = options.blocking;
    this.#queues = options.queues;
    this.#wakeKey = options.keys.wake(options.worker);
    this.#keys = options.keys;
    this.#heads = defineScript(options.commands, 'lehrHeads', HEADS_LUA);
  }

  /**
   * Blocks until one of the groups may have a job, `interrupt` is called, or MAX_BLOCK_S have passed.
   * Returns the group whose marker was taken; the caller claims from it or calls `pass`.
   */
  async wait(groups: readonly string[]): Promise<string | undefined> {
    const markers = groups.map((group) => this.#queues.of(group).marker);
    const popped = await this.#blocking.bzpopmin(this.#wakeKey, ...markers, MAX_BLOCK_S);
    if (!popped) return undefined;
    this.#woken = groups[markers.indexOf(popped[0])];
    return this.#woken;
  }

  /** Ends the `wait` under way, or else the next one. */
  async interrupt(): Promise<void> {
    await this.#commands.pipeline().zadd(this.#wakeKey, 0, '0').expire(this.#wakeKey, WAKE_TTL_S).exec();
  }

  /** Wakes another worker for a group that this worker was woken for and does not claim from. */
  async pass(group: string): Promise<void> {
    await this.#queues.of(group).wake();
  }

  /**
   * The heads of groups of these models (`name@version`) that have waiting jobs: those of `again`, the most promising ones of
   * earlier searches, and the next ones. One command, whose cost does not depend on how many groups there are; so with more
   * than GROUPS_PER_SEARCH of them it takes several searches to find all. Jobs of `fullTenants` are looked past.
   */
  async findWork(
    models: readonly string[],
    again: readonly string[] = [],
    fullTenants: readonly FullTenant[] = [],
  ): Promise<GroupHead[]> {
    if (models.length === 0) return [];
    const indexes = models.map((model) => this.#keys.waiting(model));
    const woken = this.#woken;
    const wokenIndex = woken === undefined ? undefined : this.#queues.of(woken).waitingKey;
    const at = wokenIndex === undefined ? 0 : indexes.indexOf(wokenIndex) + 1;
    const named = [...(at > 0 && woken !== undefined ? [woken] : []), ...again, ...this.#remembered];
    const { index, cursor } = this.#cursor;
    const [nextIndex, nextCursor, isWhole, ...replies] = (await this.#heads.run(indexes, [
      this.#keys.prefix,
      GROUPS_PER_SEARCH + named.length,
      index,
      cursor,
      at,
      fullTenants.length,
      ...fullTenants,
      ...named,
    ])) as [
      number,
      string,
      number,
      ...[string, number, number, number, number, number, number, JobId | ''][],
    ];
    this.#cursor = { index: nextIndex, cursor: nextCursor };
    this.#searchedAll = isWhole === 1;
    // A wake-up that came meanwhile stays for the next search.
    if (this.#woken === woken) this.#woken = undefined;
    const heads = replies.map(
      ([queue, waiting, score, waitedMs, costMs, isOfFullTenant, waitingOfClass, outOfTurn]) => ({
        queue,
        waiting,
        waitingOfClass,
        priority: classOfScore(score),
        waitedMs,
        costMs: costMs < 0 ? undefined : costMs,
        ...(isOfFullTenant === 1 && { isOfFullTenant: true }),
        ...(outOfTurn !== '' && { outOfTurn }),
      }),
    );
    this.#remembered = this.#searchedAll ? [] : mostPromising(heads);
    return heads;
  }

  /** Whether the last search looked at all groups with waiting jobs. */
  get searchedAll(): boolean {
    return this.#searchedAll;
  }
}

function mostPromising(heads: readonly GroupHead[]): string[] {
  const sorted = [...heads].sort(
    (a, b) => urgencyOf(a.priority) - urgencyOf(b.priority) || b.waitedMs - a.waitedMs,
  );
  return sorted.slice(0, MAX_REMEMBERED).map(({ queue }) => queue);
}

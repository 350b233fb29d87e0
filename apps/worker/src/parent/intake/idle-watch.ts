/**
 * Finds a worker that is idle although jobs wait that it could run, for example because the connection that it blocks on is dead
 * and does not show it. Such a worker should be started again.
 */
import { type Clock, every, type Log } from '@lehr/shared';
import type { GroupHead } from '@lehr/shared/queue';
import { chooseGroup, type RoomOf } from './policy.ts';

export interface IdleWatchOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly idleMs: number;
  /** The heads of the groups that this worker serves. */
  readonly heads: () => Promise<readonly GroupHead[]>;
  readonly room: RoomOf;
  /** Whether the worker may claim jobs and has none. */
  readonly isIdle: () => boolean;
  /** How many jobs it has claimed. */
  readonly claims: () => number;
  readonly onStuck: () => void;
}

const CHECKS = 12;

export class IdleWatch {
  readonly #options: IdleWatchOptions;
  #stop: (() => Promise<void>) | undefined;
  // Idleness is counted in checks and not in time: this process may have been frozen.
  #idleChecks = 0;
  #claimsBefore = 0;

  constructor(options: IdleWatchOptions) {
    this.#options = options;
  }

  start(): void {
    const { idleMs, claims } = this.#options;
    this.#claimsBefore = claims();
    const failed = 'whether this worker is stuck could not be checked; trying again';
    this.#stop ??= every(idleMs / CHECKS, () => this.#check(), { ...this.#options, failed });
  }

  stop(): void {
    void this.#stop?.();
  }

  async #check(): Promise<void> {
    const { log, idleMs, claims, onStuck } = this.#options;
    const head = await this.#waitingHead();
    this.#idleChecks = head && claims() === this.#claimsBefore ? this.#idleChecks + 1 : 0;
    this.#claimsBefore = claims();
    // A younger job at the head means that other workers claim from this group.
    if (!head || this.#idleChecks < CHECKS || head.waitedMs < idleMs) return;
    log.error(
      { queue: head.queue, waiting: head.waiting, waitedMs: head.waitedMs },
      'this worker is idle and claims no jobs although some wait; it exits to be started again',
    );
    this.stop();
    onStuck();
  }

  /** The head that the worker should claim now; undefined when there is none, or Redis does not answer. */
  async #waitingHead(): Promise<GroupHead | undefined> {
    const { heads, room, isIdle } = this.#options;
    if (!isIdle()) return undefined;
    const waiting = await heads().catch(() => []);
    const choice = chooseGroup(waiting, room);
    return isIdle() ? waiting.find(({ queue }) => queue === choice?.queue) : undefined;
  }
}

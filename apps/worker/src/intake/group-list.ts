/** The group queues that this worker serves. A new group is announced when its first job is added. */
import type { Keys, Redis } from '@lehr/shared/redis';

export class GroupList {
  readonly #redis: Redis;
  readonly #keys: Keys;
  readonly #serves: (group: string) => boolean;
  #names: readonly string[] = [];

  constructor(redis: Redis, keys: Keys, serves: (group: string) => boolean) {
    this.#redis = redis;
    this.#keys = keys;
    this.#serves = serves;
  }

  get names(): readonly string[] {
    return this.#names;
  }

  /** Reads the whole list: at the start, and after a reconnect, since announcements may have been missed. */
  async load(): Promise<void> {
    this.#names = (await this.#redis.smembers(this.#keys.groups)).filter(this.#serves);
  }

  /** Returns true when the group is new here and served. */
  add(group: string): boolean {
    if (this.#names.includes(group) || !this.#serves(group)) return false;
    this.#names = [...this.#names, group];
    return true;
  }
}

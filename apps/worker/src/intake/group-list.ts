/** The group queues this worker serves, of all that exist; a new one is announced by whoever adds the first job to it. */
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

  /** Reads the whole list; also after a reconnect, since announcements may have been missed. */
  async load(): Promise<void> {
    this.#names = (await this.#redis.smembers(this.#keys.groups)).filter(this.#serves);
  }

  /** True when the group is new here and served. */
  learn(group: string): boolean {
    if (this.#names.includes(group) || !this.#serves(group)) return false;
    this.#names = [...this.#names, group];
    return true;
  }
}

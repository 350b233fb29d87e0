/** The group queues that this worker serves. New and retired groups are announced. */
import { formatModelRef, parseGroupQueueName } from '@lehr/shared';
import type { Keys, Redis } from '@lehr/shared/redis';

export class GroupList {
  readonly #redis: Redis;
  readonly #keys: Keys;
  readonly #serves: (group: string) => boolean;
  #names: readonly string[] = [];
  #models: readonly string[] = [];
  /** For each list that was asked for, the announcements since then: the list may be older than they are. */
  readonly #loads = new Set<Map<string, 'new' | 'retired'>>();

  constructor(redis: Redis, keys: Keys, serves: (group: string) => boolean) {
    this.#redis = redis;
    this.#keys = keys;
    this.#serves = serves;
  }

  get names(): readonly string[] {
    return this.#names;
  }

  /** The models of these groups, as `name@version`. */
  get models(): readonly string[] {
    return this.#models;
  }

  /** Reads the whole list: at the start, and after a reconnect, since announcements may have been missed. */
  async load(): Promise<void> {
    const announced = new Map<string, 'new' | 'retired'>();
    this.#loads.add(announced);
    try {
      const listed = new Set(await this.#redis.smembers(this.#keys.groups));
      for (const [group, change] of announced) {
        if (change === 'new') listed.add(group);
        else listed.delete(group);
      }
      this.#set([...listed].filter(this.#serves));
    } finally {
      this.#loads.delete(announced);
    }
  }

  /** Returns true when the group is new here and served. */
  add(group: string): boolean {
    this.#note(group, 'new');
    if (this.#names.includes(group) || !this.#serves(group)) return false;
    this.#set([...this.#names, group]);
    return true;
  }

  remove(group: string): void {
    this.#note(group, 'retired');
    this.#set(this.#names.filter((name) => name !== group));
  }

  #set(names: readonly string[]): void {
    this.#names = names;
    const groups = names.map(parseGroupQueueName).filter((group) => group !== undefined);
    this.#models = [...new Set(groups.map(({ model }) => formatModelRef(model)))];
  }

  #note(group: string, change: 'new' | 'retired'): void {
    for (const announced of this.#loads) announced.set(group, change);
  }
}

/**
 * Which groups of jobs this worker serves, and the announcements that it subscribes to: new and retired groups, cancels of its jobs, and pauses.
 */
import { formatModelRef, type JobId, parseGroupQueueName, type WorkerId } from '@lehr/shared';
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

interface AnnouncementsOptions {
  readonly subscriber: Redis;
  readonly keys: Keys;
  readonly worker: WorkerId;
  readonly onGroup: (queue: string) => void;
  readonly onRetired: (queue: string) => void;
  readonly onCancel: (job: JobId) => void;
  /** This was paused (`name`, `name@version` or `*`), and its running jobs go back to their queues. */
  readonly onPausedNow: (target: string) => void;
  /** The subscription is active again after the connection was lost; announcements in between were missed. */
  readonly onReconnect: () => void;
}

/** Resolves when the subscription is active. */
export async function subscribeToAnnouncements(options: AnnouncementsOptions): Promise<void> {
  const { subscriber, keys, worker, onGroup, onRetired, onCancel, onPausedNow, onReconnect } = options;
  subscriber.on('message', (channel: string, text: string) => {
    if (channel === keys.groups) onGroup(text);
    else if (channel === keys.retiredGroups) onRetired(text);
    else if (channel === keys.cancel(worker)) onCancel(text as JobId);
    else if (channel === keys.pauses) onPausedNow(text);
  });
  const subscribe = () =>
    subscriber.subscribe(keys.groups, keys.retiredGroups, keys.cancel(worker), keys.pauses);
  // ioredis subscribes again by itself, but does not tell when Redis has answered. A failure means another reconnect.
  subscriber.on('ready', () => void subscribe().then(onReconnect, () => {}));
  await subscribe();
}

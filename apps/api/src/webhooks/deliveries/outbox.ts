/** Events that are not deliveries yet. transition.lua adds an event in the same call that changes the record. */
import { type Keys, type Redis, redisNow } from '@lehr/shared/redis';
import { type EventRef, entryOf, type TakeDue, type TakeOptions, takerOf } from './event-ref.ts';

export class Outbox {
  readonly #redis: Redis;
  readonly #set: string;
  readonly #takeDue: TakeDue;

  constructor(redis: Redis, keys: Keys) {
    this.#redis = redis;
    this.#set = keys.outbox;
    this.#takeDue = takerOf(redis);
  }

  /** The events that are due. */
  take(options: TakeOptions): Promise<EventRef[]> {
    return this.#takeDue(this.#set, options);
  }

  async remove(ref: EventRef): Promise<void> {
    await this.#redis.zrem(this.#set, entryOf(ref));
  }

  /** Makes an event that was taken due again after `ms`. */
  async postpone(ref: EventRef, ms: number): Promise<void> {
    await this.#redis.zadd(this.#set, 'XX', (await redisNow(this.#redis)) + ms, entryOf(ref));
  }
}

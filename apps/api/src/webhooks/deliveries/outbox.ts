/** Events that are not deliveries yet. transition.lua adds an event in the same call that changes the record. */
import { type Keys, type Redis, redisNow } from '@lehr/shared/redis';
import { type TakeOptions, takerOf } from '../../base/take-due.ts';
import { type EventRef, entryOf, refOf } from './event-ref.ts';

export class Outbox {
  readonly #redis: Redis;
  readonly #set: string;
  readonly #takeDue: ReturnType<typeof takerOf>;

  constructor(redis: Redis, keys: Keys) {
    this.#redis = redis;
    this.#set = keys.outbox;
    this.#takeDue = takerOf(redis, keys.outbox);
  }

  /** The events that are due. */
  async take(options: TakeOptions): Promise<EventRef[]> {
    return (await this.#takeDue(options)).map(refOf);
  }

  async remove(ref: EventRef): Promise<void> {
    await this.#redis.zrem(this.#set, entryOf(ref));
  }

  /** Makes an event that was taken due again after `ms`. */
  async postpone(ref: EventRef, ms: number): Promise<void> {
    await this.#redis.zadd(this.#set, 'XX', (await redisNow(this.#redis)) + ms, entryOf(ref));
  }
}

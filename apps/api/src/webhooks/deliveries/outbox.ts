/** Events that are not deliveries yet. transition.lua adds an event in the same call that changes the record. */
import { readFileSync } from 'node:fs';
import { defineScript, type Keys, type Redis, redisNow, type Script } from '@lehr/shared/redis';
import { type EventRef, entryOf, refOf } from './event-ref.ts';

const TAKE_DUE_LUA = readFileSync(new URL('./take-due.lua', import.meta.url), 'utf8');

export interface TakeOptions {
  readonly count: number;
  /** No other process takes them for this long. */
  readonly holdMs: number;
}

export class Outbox {
  readonly #redis: Redis;
  readonly #set: string;
  readonly #takeDue: Script;

  constructor(redis: Redis, keys: Keys) {
    this.#redis = redis;
    this.#set = keys.outbox;
    this.#takeDue = defineScript(redis, 'lehrTake', TAKE_DUE_LUA);
  }

  /** The events that are due. */
  async take({ count, holdMs }: TakeOptions): Promise<EventRef[]> {
    return ((await this.#takeDue.run([this.#set], [count, holdMs])) as string[]).map(refOf);
  }

  async remove(ref: EventRef): Promise<void> {
    await this.#redis.zrem(this.#set, entryOf(ref));
  }

  /** Makes an event that was taken due again after `ms`. */
  async postpone(ref: EventRef, ms: number): Promise<void> {
    await this.#redis.zadd(this.#set, 'XX', (await redisNow(this.#redis)) + ms, entryOf(ref));
  }
}

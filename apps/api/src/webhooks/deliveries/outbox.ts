/**
 * Events that are not deliveries yet, as entries of a sorted set. transition.lua adds an event in the same call that changes the record.
 */
import type { JobId } from '@lehr/shared';
import { type Keys, type Redis, redisNow } from '@lehr/shared/redis';
import { type TakeOptions, takerOf } from '../../base/take-due.ts';

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

/** Which event of which job. */
export interface EventRef {
  readonly job: JobId;
  readonly event: string;
}

export const entryOf = ({ job, event }: EventRef): string => `${job} ${event}`;

export function refOf(entry: string): EventRef {
  const [job, event] = entry.split(' ');
  return { job: job as JobId, event };
}

/**
 * When each delivery is due. The due time is kept twice:
 *
 * - `due_at` of the record and the sorted set `undelivered`, by the clock of Redis, written by the scripts of Deliveries. It
 *   decides: Deliverer.handle delays a delivery that is early.
 * - the delay of the entry in BullMQ's queue, by the clock of a process. It only wakes a process up, and can be lost or be too
 *   late; `takeOverdue` finds such a delivery.
 *
 * Every caller schedules through this class, and Deliverer.handle reports the next due time. One schedule over the sorted set
 * can therefore replace both here, without a change elsewhere.
 */
import { DeliveryQueue } from '@lehr/shared/queue';
import type { Keys, Redis } from '@lehr/shared/redis';
import { queueName } from '../message-id.ts';
import type { DeliveryRef } from './deliveries.ts';
import { type EventRef, entryOf, type TakeDue, type TakeOptions, takerOf } from './event-ref.ts';

export class DeliverySchedule {
  readonly #redis: Redis;
  readonly #undelivered: string;
  readonly #queue: DeliveryQueue;
  readonly #takeDue: TakeDue;

  constructor(redis: Redis, keys: Keys) {
    this.#redis = redis;
    this.#undelivered = keys.undelivered;
    this.#queue = new DeliveryQueue(redis, keys);
    this.#takeDue = takerOf(redis);
  }

  /** Schedules a new delivery for now. One that is scheduled already stays unchanged. */
  add({ job, event, id }: DeliveryRef): Promise<void> {
    return this.#queue.add(queueName(job, event, id), { job, event, id });
  }

  /** Has a delivery handled now, whatever it waits for. It is sent only if its `due_at` has passed. */
  wake({ job, event, id }: DeliveryRef): Promise<void> {
    return this.#queue.addNow(queueName(job, event, id), { job, event, id });
  }

  /** Deliveries that have been due for `overdueMs`: the queue may have lost them. */
  takeOverdue(options: TakeOptions): Promise<EventRef[]> {
    return this.#takeDue(this.#undelivered, options);
  }

  /** For an entry whose delivery has ended or was deleted. */
  async remove(ref: EventRef): Promise<void> {
    await this.#redis.zrem(this.#undelivered, entryOf(ref));
  }
}

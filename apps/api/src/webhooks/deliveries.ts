/**
 * Deliveries in Redis: one record per webhook event of a job, with the exact bytes that are sent, and the log of attempts.
 *
 *   open --> pending --- settle ---> delivered | failed | gone
 *              ^  |                      |
 *              +--+ settle (try again)   |
 *              +--- settle (anew) <------+   the owner asks for it again, also of one that is pending
 */
import { readFileSync } from 'node:fs';
import {
  DELIVERY_STATES,
  type DeliveryAttempt,
  DeliveryAttemptSchema,
  type DeliveryState,
  type JobId,
  LehrError,
  type TenantId,
  WEBHOOK_EVENTS,
} from '@lehr/shared';
import { defineScript, type Keys, type Redis, redisNow, type Script } from '@lehr/shared/redis';
import { z } from 'zod';

const TAKE_LUA = readFileSync(new URL('./take.lua', import.meta.url), 'utf8');
const OPEN_LUA = readFileSync(new URL('./open-delivery.lua', import.meta.url), 'utf8');
const SETTLE_LUA = readFileSync(new URL('./settle-delivery.lua', import.meta.url), 'utf8');

const MAX_ATTEMPTS_KEPT = 100;
/** A job's progress is told like an event, on wires that want it. */
const ALL_EVENTS: readonly string[] = [...WEBHOOK_EVENTS, 'job.progress'];

/** Which event of which job. */
export interface EventRef {
  readonly job: JobId;
  readonly event: string;
}

export interface DeliveryRef extends EventRef {
  /** The webhook id. */
  readonly id: string;
}

const NewDeliverySchema = z.object({
  tenant: z.custom<TenantId>((value) => typeof value === 'string'),
  url: z.string(),
  /** Whose secrets sign it. */
  secret: z.custom<TenantId>((value) => typeof value === 'string'),
  /** The exact text that is sent and signed on every attempt. */
  body: z.string(),
  /** `1` when a failed attempt is followed by others. */
  retried: z.enum(['0', '1']),
});
export type NewDelivery = z.output<typeof NewDeliverySchema>;

const DeliverySchema = NewDeliverySchema.extend({
  id: z.string(),
  state: z.enum(DELIVERY_STATES),
  /** Attempts since it was opened, or asked for again. */
  tries: z.coerce.number(),
  /** How often its owner asked for it again. */
  asked: z.coerce.number().default(0),
  created_at: z.coerce.number(),
  /** By Redis's clock: when the next attempt may be made. */
  due_at: z.coerce.number(),
});
export type StoredDelivery = z.output<typeof DeliverySchema> & EventRef;

/** What follows from an attempt. */
export interface Next {
  readonly state: DeliveryState;
  readonly againMs?: number;
  /** Its owner asks for it again: attempts are counted from none. */
  readonly anew?: true;
}

/** `asked-again`: by its owner since it was read, so another attempt is due. `replaced`: by a newer event, or deleted. */
export type Settled = 'settled' | 'asked-again' | 'replaced';

export interface DeliveriesOptions {
  /** How long one without an end is kept: longer than every attempt takes together. */
  readonly pendingMs: number;
  /** How long one with an end is kept, and its job's log. */
  readonly endedMs: number;
}

export class Deliveries {
  readonly #redis: Redis;
  readonly #keys: Keys;
  readonly #options: DeliveriesOptions;
  readonly #take: Script;
  readonly #open: Script;
  readonly #settle: Script;

  constructor(redis: Redis, keys: Keys, options: DeliveriesOptions) {
    this.#redis = redis;
    this.#keys = keys;
    this.#options = options;
    this.#take = defineScript(redis, 'lehrTake', TAKE_LUA);
    this.#open = defineScript(redis, 'lehrOpenDelivery', OPEN_LUA);
    this.#settle = defineScript(redis, 'lehrSettleDelivery', SETTLE_LUA);
  }

  /** Events that wait to be made deliveries; nobody else is given them for `holdMs`. */
  takeOutbox(count: number, holdMs: number): Promise<EventRef[]> {
    return this.#taken(this.#keys.outbox, 0, count, holdMs);
  }

  /** Deliveries whose attempt has been due for `lateMs`: perhaps nothing in the queue stands for them any more. */
  takeLate(lateMs: number, count: number, holdMs: number): Promise<EventRef[]> {
    return this.#taken(this.#keys.undelivered, lateMs, count, holdMs);
  }

  async leaveOutbox(ref: EventRef): Promise<void> {
    await this.#redis.zrem(this.#keys.outbox, entryOf(ref));
  }

  /** Has an event taken from the outbox looked at again after `ms`. */
  async postpone(ref: EventRef, ms: number): Promise<void> {
    await this.#redis.zadd(this.#keys.outbox, 'XX', (await redisNow(this.#redis)) + ms, entryOf(ref));
  }

  async forgetLate(ref: EventRef): Promise<void> {
    await this.#redis.zrem(this.#keys.undelivered, entryOf(ref));
  }

  /** Writes it down unless it is there, and returns its state. */
  async open(ref: DeliveryRef, delivery: NewDelivery): Promise<DeliveryState> {
    const keys = [this.#keys.delivery(ref.job, ref.event), this.#keys.undelivered];
    const fields = Object.entries(delivery).flat();
    return (await this.#open.run(keys, [
      entryOf(ref),
      ref.id,
      this.#options.pendingMs,
      ...fields,
    ])) as DeliveryState;
  }

  /** With Redis's clock, ms; undefined when there is none, or no longer. */
  async read(ref: EventRef): Promise<{ delivery: StoredDelivery; now: number } | undefined> {
    const [hash, now] = await Promise.all([
      this.#redis.hgetall(this.#keys.delivery(ref.job, ref.event)),
      redisNow(this.#redis),
    ]);
    const delivery = parse(ref, hash);
    return delivery && { delivery, now };
  }

  /** Writes down an attempt, if one was made, and, when it says `settled`, what follows. */
  async settle(delivery: StoredDelivery, next: Next, attempt?: DeliveryAttempt): Promise<Settled> {
    const { job, event, id, asked } = delivery;
    const { pendingMs, endedMs } = this.#options;
    return (await this.#settle.run(
      [this.#keys.delivery(job, event), this.#keys.attempts(job), this.#keys.undelivered],
      [
        entryOf(delivery),
        id,
        next.state,
        next.againMs ?? 0,
        next.state === 'pending' ? pendingMs : endedMs,
        attempt ? JSON.stringify(attempt) : '',
        MAX_ATTEMPTS_KEPT,
        next.anew ? '1' : '0',
        asked,
      ],
    )) as Settled;
  }

  /** Of one job, oldest first. */
  async of(job: JobId): Promise<StoredDelivery[]> {
    const pipeline = this.#redis.pipeline();
    for (const event of ALL_EVENTS) pipeline.hgetall(this.#keys.delivery(job, event));
    const replies = (await pipeline.exec()) ?? [];
    const found = replies.map(([error, hash], i) => {
      if (error) throw error;
      return parse({ job, event: ALL_EVENTS[i] }, hash as Record<string, string>);
    });
    return found.filter((delivery) => delivery !== undefined).sort((a, b) => a.created_at - b.created_at);
  }

  /** Oldest first. */
  async attempts(job: JobId): Promise<DeliveryAttempt[]> {
    const entries = await this.#redis.lrange(this.#keys.attempts(job), 0, -1);
    return entries.map((entry) => DeliveryAttemptSchema.parse(JSON.parse(entry)));
  }

  /** Forgets everything about a job's webhooks, also what was still to be sent. */
  async forget(job: JobId): Promise<void> {
    const entries = ALL_EVENTS.map((event) => entryOf({ job, event }));
    await this.#redis
      .multi()
      .del(this.#keys.attempts(job), ...ALL_EVENTS.map((event) => this.#keys.delivery(job, event)))
      .zrem(this.#keys.outbox, ...entries)
      .zrem(this.#keys.undelivered, ...entries)
      .exec();
  }

  /** How many events wait in the outbox, and how many deliveries have no end. */
  async counts(): Promise<{ outbox: number; undelivered: number }> {
    const [outbox, undelivered] = await Promise.all([
      this.#redis.zcard(this.#keys.outbox),
      this.#redis.zcard(this.#keys.undelivered),
    ]);
    return { outbox, undelivered };
  }

  async #taken(set: string, lateMs: number, count: number, holdMs: number): Promise<EventRef[]> {
    const entries = (await this.#take.run([set], [lateMs, count, holdMs])) as string[];
    return entries.map((entry) => {
      const [job, event] = entry.split(' ');
      return { job: job as JobId, event };
    });
  }
}

const entryOf = ({ job, event }: EventRef): string => `${job} ${event}`;

function parse({ job, event }: EventRef, hash: Record<string, string>): StoredDelivery | undefined {
  if (Object.keys(hash).length === 0) return undefined;
  const parsed = DeliverySchema.safeParse(hash);
  if (parsed.success) return { ...parsed.data, job, event };
  throw new LehrError(
    'internal',
    `Delivery ${job} ${event} does not fit its schema. This is a bug in Lehr.`,
    {
      cause: parsed.error,
    },
  );
}

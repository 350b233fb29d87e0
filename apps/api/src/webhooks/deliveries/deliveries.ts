/**
 * The records of deliveries in Redis: one per webhook event of a job, with the exact bytes to send, and a log of attempts.
 *
 *   open --> pending --- settle ---> delivered | failed | gone
 *              ^  |                      |
 *              +--+ settle (retry)       |
 *              +--- restart <------------+   the owner requests redelivery, also while it is pending
 *
 * Only the process that holds the lease of a pending delivery (DeliverySchedule) settles it. So an attempt that was overtaken, by
 * an attempt of another process or by its owner, changes nothing.
 */
import { readFileSync } from 'node:fs';
import {
  BATCH_EVENTS,
  type BatchId,
  DELIVERY_STATES,
  type DeliveryAttempt,
  DeliveryAttemptSchema,
  type DeliveryState,
  isBatchId,
  type JobId,
  LehrError,
  parsedStored,
  type TenantId,
  WEBHOOK_EVENTS,
} from '@lehr/shared';
import { defineScript, type Keys, type Redis, redisNow, type Script } from '@lehr/shared/redis';
import { z } from 'zod';
import { type EventRef, entryOf } from './outbox.ts';

/** Defines `open_delivery(key, undelivered, entry, id, kept_ms, fields)`. */
export const OPEN_DELIVERY_LUA = readFileSync(new URL('./open-delivery.lua', import.meta.url), 'utf8');
const OPEN_LUA = `${OPEN_DELIVERY_LUA}
return open_delivery(KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3], { unpack(ARGV, 4) })`;
const SETTLE_LUA = readFileSync(new URL('./settle-delivery.lua', import.meta.url), 'utf8');

/** Longer than the longest time between two attempts, whatever Retry-After a receiver sends. */
export const PENDING_MS = 7 * 24 * 3_600_000;
const MAX_ATTEMPTS_KEPT = 100;
/** Of those with deliveries above their share; the others are not counted. */
const MAX_TENANTS_COUNTED = 500;
/** Progress is sent like an event, in dialects that have it. */
const ALL_EVENTS: readonly string[] = [...WEBHOOK_EVENTS, 'job.progress'];

export interface DeliveryRef extends EventRef {
  /** The webhook id. */
  readonly id: string;
}

const NewDeliverySchema = z.object({
  tenant: z.custom<TenantId>((value) => typeof value === 'string'),
  url: z.string(),
  /** The tenant whose secrets sign it. */
  signer: z.custom<TenantId>((value) => typeof value === 'string'),
  /** The exact text that each attempt sends and signs. */
  body: z.string(),
  /** `1` when a failed attempt is retried. */
  retried: z.enum(['0', '1']),
  /** W3C traceparent of the request that made the job; absent when that is not traced. */
  trace: z.string().optional(),
});
export type NewDelivery = z.output<typeof NewDeliverySchema>;

const DeliverySchema = NewDeliverySchema.extend({
  id: z.string(),
  state: z.enum(DELIVERY_STATES),
  /** Attempts since it was opened, or since its owner requested redelivery. */
  tries: z.coerce.number(),
  created_at: z.coerce.number(),
  /** By Redis's clock: when the next attempt may be made. */
  due_at: z.coerce.number(),
});
export type StoredDelivery = z.output<typeof DeliverySchema> & EventRef;

/** The state after an attempt. */
export interface Next {
  readonly state: DeliveryState;
  readonly retryInMs?: number;
}

/**
 * `stale`: the delivery has ended or has another lease. `replaced`: a newer event has its place, or it was deleted.
 */
export type Settled = 'settled' | 'stale' | 'replaced';

export interface DeliveriesOptions {
  /** How long a pending delivery is kept: longer than all attempts take together. */
  readonly pendingMs: number;
  /** How long a delivery that has ended, and the log of its job, are kept. */
  readonly endedMs: number;
}

/** The keys and arguments of `open_delivery`, the fields of the delivery last. */
export interface OpenArguments {
  readonly keys: string[];
  readonly args: (string | number)[];
}

export const openArguments = (
  keys: Keys,
  ref: DeliveryRef,
  delivery: NewDelivery,
  pendingMs: number,
): OpenArguments => ({
  keys: [keys.delivery(ref.job, ref.event), keys.undelivered],
  args: [entryOf(ref), ref.id, pendingMs, ...Object.entries(delivery).flat()],
});

export class Deliveries {
  readonly #redis: Redis;
  readonly #keys: Keys;
  readonly #options: DeliveriesOptions;
  readonly #open: Script;
  readonly #settle: Script;

  constructor(redis: Redis, keys: Keys, options: DeliveriesOptions) {
    this.#redis = redis;
    this.#keys = keys;
    this.#options = options;
    this.#open = defineScript(redis, 'lehrOpenDelivery', OPEN_LUA);
    this.#settle = defineScript(redis, 'lehrSettleDelivery', SETTLE_LUA);
  }

  /** Stores the delivery unless it is stored already, and returns its state. */
  async open(ref: DeliveryRef, delivery: NewDelivery): Promise<DeliveryState> {
    const { keys, args } = openArguments(this.#keys, ref, delivery, this.#options.pendingMs);
    return (await this.#open.run(keys, args)) as DeliveryState;
  }

  /** The delivery, with Redis's clock in ms; undefined when there is none. */
  async read(ref: EventRef): Promise<{ delivery: StoredDelivery; now: number } | undefined> {
    const [hash, now] = await Promise.all([
      this.#redis.hgetall(this.#keys.delivery(ref.job, ref.event)),
      redisNow(this.#redis),
    ]);
    const delivery = parseDelivery(ref, hash);
    return delivery && { delivery, now };
  }

  /** Logs the attempt, if one was made, and stores the next state unless it returns something other than `settled`. */
  settle(
    delivery: StoredDelivery & { readonly lease: string },
    next: Next,
    attempt?: DeliveryAttempt,
  ): Promise<Settled> {
    return this.#move(delivery, next, delivery.lease, attempt);
  }

  /** For its owner, who requests redelivery: due at once, and attempts are counted from zero. A running attempt loses its lease. */
  restart(delivery: StoredDelivery): Promise<Settled> {
    return this.#move(delivery, { state: 'pending' }, '');
  }

  async #move(
    delivery: StoredDelivery,
    next: Next,
    lease: string,
    attempt?: DeliveryAttempt,
  ): Promise<Settled> {
    const { job, event, id } = delivery;
    const { pendingMs, endedMs } = this.#options;
    return (await this.#settle.run(
      [this.#keys.delivery(job, event), this.#keys.attempts(job), this.#keys.undelivered],
      [
        entryOf(delivery),
        id,
        next.state,
        next.retryInMs ?? 0,
        next.state === 'pending' ? pendingMs : endedMs,
        attempt ? JSON.stringify(attempt) : '',
        MAX_ATTEMPTS_KEPT,
        lease,
      ],
    )) as Settled;
  }

  /** The deliveries of a job or a batch, oldest first. */
  async of(owner: JobId | BatchId): Promise<StoredDelivery[]> {
    const job = owner as JobId;
    const events: readonly string[] = isBatchId(owner) ? BATCH_EVENTS : ALL_EVENTS;
    const pipeline = this.#redis.pipeline();
    for (const event of events) pipeline.hgetall(this.#keys.delivery(job, event));
    const replies = (await pipeline.exec()) ?? [];
    const found = replies.map(([error, hash], i) => {
      if (error) throw error;
      return parseDelivery({ job, event: events[i] }, hash as Record<string, string>);
    });
    return found.filter((delivery) => delivery !== undefined).sort((a, b) => a.created_at - b.created_at);
  }

  /** The attempts of a job, oldest first, without damaged entries. */
  async attempts(job: JobId): Promise<DeliveryAttempt[]> {
    const entries = await this.#redis.lrange(this.#keys.attempts(job), 0, -1);
    return entries.flatMap((entry) => parsedStored(DeliveryAttemptSchema, entry) ?? []);
  }

  /** Deletes everything about the webhooks of a job, also deliveries that are pending. */
  async delete(job: JobId): Promise<void> {
    const entries = ALL_EVENTS.map((event) => entryOf({ job, event }));
    await this.#redis
      .multi()
      .del(this.#keys.attempts(job), ...ALL_EVENTS.map((event) => this.#keys.delivery(job, event)))
      .zrem(this.#keys.outbox, ...entries)
      .zrem(this.#keys.undelivered, ...entries)
      .exec();
  }

  /** How many events are in the outbox, and how many deliveries are pending. */
  async counts(): Promise<{ outbox: number; undelivered: number }> {
    const [outbox, undelivered, tenants] = await Promise.all([
      this.#redis.zcard(this.#keys.outbox),
      this.#redis.zcard(this.#keys.undelivered),
      this.#redis.zrange(this.#keys.deferred, '0', `${MAX_TENANTS_COUNTED - 1}`),
    ]);
    const pipeline = this.#redis.pipeline();
    for (const tenant of tenants) pipeline.zcard(this.#keys.deferredOf(tenant as TenantId));
    const deferred = ((await pipeline.exec()) ?? []).reduce((sum, [, count]) => sum + Number(count ?? 0), 0);
    return { outbox, undelivered: undelivered + deferred };
  }
}

/** Undefined for an empty hash: there is none. */
export function parseDelivery(
  { job, event }: EventRef,
  hash: Record<string, string>,
): StoredDelivery | undefined {
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

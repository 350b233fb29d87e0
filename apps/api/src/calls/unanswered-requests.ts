/**
 * Jobs whose request got no answer: its connection broke, or it was held longer than it may be. Clients that send no
 * Idempotency-Key ask again, and the next request like it takes the job instead of having another one made
 * (queue/admit.lua takes it, once).
 */
import type { JobId } from '@lehr/shared';
import type { DuplicateRequest } from '@lehr/shared/queue';
import { type Keys, type Redis, redisNow } from '@lehr/shared/redis';

/** Clients that ask again do so within seconds. */
const WAITS_MS = 60_000;
/** A request is held for less; one that is never closed (its API died) stands for no longer. */
const HELD_AT_MOST_MS = 300_000;
/** Whoever took a job in the last moment has said so by then. */
const ADOPTION_MS = 2_000;
/** Looked at in one sweep. */
const CHUNK = 500;

export class UnansweredRequests {
  readonly #redis: Redis;
  readonly #keys: Keys;

  constructor(redis: Redis, keys: Keys) {
    this.#redis = redis;
    this.#keys = keys;
  }

  /** A request is held until its job is over. Only for those whose retries say that they are (see DuplicateRequest). */
  async held({ hash }: DuplicateRequest, id: JobId): Promise<void> {
    const key = this.#keys.twins(hash);
    await this.#redis.multi().zadd(key, '+inf', id).pexpire(key, HELD_AT_MOST_MS).exec();
  }

  /** It was answered: nobody asks again. */
  async answered({ hash }: DuplicateRequest, id: JobId): Promise<void> {
    await this.#redis.zrem(this.#keys.twins(hash), id);
  }

  /** It was not. With `cancel` the job is called off if it still waits when nobody came for it. */
  async lost({ hash }: DuplicateRequest, id: JobId, { cancel = false } = {}): Promise<void> {
    const key = this.#keys.twins(hash);
    const until = (await redisNow(this.#redis)) + WAITS_MS;
    const writes = this.#redis.multi().zadd(key, until, id).pexpire(key, HELD_AT_MOST_MS);
    if (cancel) writes.zadd(this.#keys.orphans, until, `${hash} ${id}`);
    await writes.exec();
  }

  /** The next request like it came and has the job now. */
  async adopted({ hash }: DuplicateRequest, id: JobId): Promise<void> {
    await this.#redis.zrem(this.#keys.orphans, `${hash} ${id}`);
  }

  /** Jobs lost with `cancel` that nobody came for in time; each is returned to one caller only. */
  async takeAbandoned(): Promise<JobId[]> {
    const due = (await redisNow(this.#redis)) - ADOPTION_MS;
    const entries = await this.#redis.zrangebyscore(this.#keys.orphans, '-inf', due, 'LIMIT', 0, CHUNK);
    const taken = await Promise.all(entries.map((entry) => this.#redis.zrem(this.#keys.orphans, entry)));
    return entries.filter((_, i) => taken[i] > 0).map((entry) => entry.split(' ')[1] as JobId);
  }
}

/**
 * Requests that got no answer, with their jobs: the connection broke, or the hold ended before the job. Clients without an
 * Idempotency-Key retry, and the next duplicate of the request takes the job over instead of making a second one (admit.lua
 * takes each job once).
 */
import type { JobId } from '@lehr/shared';
import type { DuplicateRequest } from '@lehr/shared/queue';
import { defineScript, type Keys, type Redis, redisNow, type Script } from '@lehr/shared/redis';

/** Clients retry within seconds. */
const RETRY_WINDOW_MS = 60_000;
/** Longer than any hold; a request whose API process died counts as held until then. */
const MAX_HELD_MS = 300_000;
/** A retry in the last moment of the window has been marked (`markAdopted`) by then. */
const ADOPTION_GRACE_MS = 2_000;
/** Jobs taken in one sweep. */
const BATCH = 500;

/**
 * KEYS[1] <prefix>:unanswered:<hash>; ARGV[1] job id, ARGV[2] how long it counts, ms. One command instead of the four of a transaction,
 * because every held call sends it.
 */
const MARK_HELD_LUA = `
redis.call('ZADD', KEYS[1], 'inf', ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])`;

export class UnansweredRequests {
  readonly #redis: Redis;
  readonly #keys: Keys;
  readonly #markHeld: Script;

  constructor(redis: Redis, keys: Keys) {
    this.#redis = redis;
    this.#keys = keys;
    this.#markHeld = defineScript(redis, 'lehrMarkHeld', MARK_HELD_LUA);
  }

  /** The request waits for its job. Only duplicates that say they are retries may take the job now (see DuplicateRequest). */
  async markHeld({ hash }: DuplicateRequest, id: JobId): Promise<void> {
    await this.#markHeld.run([this.#keys.unanswered(hash)], [id, MAX_HELD_MS]);
  }

  /** The request was answered and is not retried. */
  async markAnswered({ hash }: DuplicateRequest, id: JobId): Promise<void> {
    await this.#redis.zrem(this.#keys.unanswered(hash), id);
  }

  /** The request was not answered. With `cancel` its job counts as abandoned when no retry takes it in the retry window. */
  async markUnanswered({ hash }: DuplicateRequest, id: JobId, { cancel = false } = {}): Promise<void> {
    const key = this.#keys.unanswered(hash);
    const until = (await redisNow(this.#redis)) + RETRY_WINDOW_MS;
    const writes = this.#redis.multi().zadd(key, until, id).pexpire(key, MAX_HELD_MS);
    if (cancel) writes.zadd(this.#keys.abandoned, until, `${hash} ${id}`);
    await writes.exec();
  }

  /** A retry has taken the job over. */
  async markAdopted({ hash }: DuplicateRequest, id: JobId): Promise<void> {
    await this.#redis.zrem(this.#keys.abandoned, `${hash} ${id}`);
  }

  /** Abandoned jobs. Each is returned once, to one API process. */
  async takeAbandoned(): Promise<JobId[]> {
    const due = (await redisNow(this.#redis)) - ADOPTION_GRACE_MS;
    const entries = await this.#redis.zrangebyscore(this.#keys.abandoned, '-inf', due, 'LIMIT', 0, BATCH);
    const taken = await Promise.all(entries.map((entry) => this.#redis.zrem(this.#keys.abandoned, entry)));
    return entries.filter((_, i) => taken[i] > 0).map((entry) => entry.split(' ')[1] as JobId);
  }
}

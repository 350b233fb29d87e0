/**
 * Requests that got no answer, with their jobs: the connection broke, or the hold ended before the job. Clients without an
 * Idempotency-Key retry, and the next duplicate of the request takes the job over instead of making a second one (admit.lua
 * takes each job once).
 */
import type { JobId, TenantId } from '@lehr/shared';
import type { DuplicateRequest } from '@lehr/shared/queue';
import type { Move } from '@lehr/shared/records';
import { defineScript, type Keys, type Redis, redisNow, type Script } from '@lehr/shared/redis';

/** Clients retry within seconds. */
const RETRY_WINDOW_MS = 60_000;
/** Longer than any hold; a request whose API process died counts as held until then. */
const MAX_HELD_MS = 300_000;
/** A retry in the last moment of the window has adopted the job by then. */
const ADOPTION_GRACE_MS = 2_000;
/** Jobs of one script. */
const BATCH = 100;

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

  /**
   * The request was not answered. With the tenant of its job, the job is abandoned when no retry takes it, and its tenant does not ask for
   * it, in the retry window.
   */
  async markUnanswered(
    { hash }: DuplicateRequest,
    id: JobId,
    { tenant }: { readonly tenant?: TenantId | undefined } = {},
  ): Promise<void> {
    const key = this.#keys.unanswered(hash);
    const until = (await redisNow(this.#redis)) + RETRY_WINDOW_MS;
    const writes = this.#redis.multi().zadd(key, until, id).pexpire(key, MAX_HELD_MS);
    if (tenant !== undefined) writes.zadd(this.#keys.abandoned, until, entryOf(tenant, id));
    await writes.exec();
  }

  /** A retry has taken the job over, or its tenant has asked for it: it is cancelled no more. */
  async adopt(tenant: TenantId, id: JobId): Promise<void> {
    await this.#redis.zrem(this.#keys.abandoned, entryOf(tenant, id));
  }

  /** Some of the jobs whose window is over. transition.lua decides which of them are abandoned. */
  async due(): Promise<Pick<Move, 'id' | 'abandoned'>[]> {
    const before = (await redisNow(this.#redis)) - ADOPTION_GRACE_MS;
    const entries = await this.#redis.zrangebyscore(this.#keys.abandoned, '-inf', before, 'LIMIT', 0, BATCH);
    return entries.map((entry) => ({ id: entry.split(' ')[1] as JobId, abandoned: { entry, before } }));
  }
}

const entryOf = (tenant: TenantId, id: JobId): string => `${tenant} ${id}`;

/** What is known of receivers, by all processes: who is left alone for a while, and who wants no more. */
import { createHash } from 'node:crypto';
import type { TenantId } from '@lehr/shared';
import { type Keys, type Redis, redisNow } from '@lehr/shared/redis';

/** A place webhooks of one tenant go to. Tenants are kept apart: one's trouble with a host is not the other's. */
export interface Receiver {
  readonly tenant: TenantId;
  readonly url: string;
}

const DAY_MS = 24 * 3_600_000;
const KEEP_MS = 30 * DAY_MS;

export const hostOf = (url: string): string => new URL(url).host;

/** Deliveries to the same host share it. */
export const laneOf = ({ tenant, url }: Receiver): string => hash(`${tenant} ${hostOf(url)}`);

export class Receivers {
  readonly #redis: Redis;
  readonly #keys: Keys;

  constructor(redis: Redis, keys: Keys) {
    this.#redis = redis;
    this.#keys = keys;
  }

  async look(receiver: Receiver): Promise<{ isGone: boolean; pausedMs: number }> {
    const [gone, pausedMs] = await Promise.all([
      this.#redis.hexists(this.#goneKey(receiver), 'gone'),
      this.#redis.pttl(this.#keys.hookPause(laneOf(receiver))),
    ]);
    return { isGone: gone === 1, pausedMs: Math.max(pausedMs, 0) };
  }

  /** Nothing goes to this host for so long. A longer pause that is under way stays. */
  async pause(receiver: Receiver, ms: number): Promise<void> {
    const key = this.#keys.hookPause(laneOf(receiver));
    if ((await this.#redis.pttl(key)) < ms) await this.#redis.set(key, '', 'PX', Math.max(1, Math.round(ms)));
  }

  /** Nothing goes to this URL any more, until its owner asks for it. */
  async close(receiver: Receiver): Promise<void> {
    const key = this.#goneKey(receiver);
    await this.#redis.multi().hset(key, 'gone', 1).pexpire(key, KEEP_MS).exec();
  }

  /** Its owner says that it works again. */
  async reopen(receiver: Receiver): Promise<void> {
    await this.#redis.del(this.#goneKey(receiver), this.#keys.hookPause(laneOf(receiver)));
  }

  /** The URL took something. */
  async welcome(receiver: Receiver): Promise<void> {
    await this.#redis.del(this.#goneKey(receiver));
  }

  /** Notes a failed attempt; returns for how long none has gone through, ms. */
  async failed(receiver: Receiver): Promise<number> {
    const key = this.#goneKey(receiver);
    const now = await redisNow(this.#redis);
    await this.#redis.multi().hsetnx(key, 'failing_since', now).pexpire(key, KEEP_MS).exec();
    const since = await this.#redis.hget(key, 'failing_since');
    return since === null ? 0 : now - Number(since);
  }

  #goneKey({ tenant, url }: Receiver): string {
    return this.#keys.hookGone(hash(`${tenant} ${url}`));
  }
}

const hash = (text: string): string => createHash('sha256').update(text).digest('base64url');

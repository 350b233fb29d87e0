/** The health of receivers, shared by all processes: which hosts are paused, and which URLs are closed. */
import { createHash } from 'node:crypto';
import type { TenantId } from '@lehr/shared';
import { type Keys, type Redis, redisNow } from '@lehr/shared/redis';

/** Where webhooks of one tenant go. Tenants are kept apart: one cannot pause a host for another. */
export interface Receiver {
  readonly tenant: TenantId;
  readonly url: string;
}

const DAY_MS = 24 * 3_600_000;
const KEEP_MS = 30 * DAY_MS;

export const hostOf = (url: string): string => new URL(url).host;

/** All URLs of a tenant on one host share pauses and slots. */
export const hostKey = ({ tenant, url }: Receiver): string => hash(`${tenant} ${hostOf(url)}`);

export class Receivers {
  readonly #redis: Redis;
  readonly #keys: Keys;

  constructor(redis: Redis, keys: Keys) {
    this.#redis = redis;
    this.#keys = keys;
  }

  async statusOf(receiver: Receiver): Promise<{ isGone: boolean; pausedMs: number }> {
    const [gone, pausedMs] = await Promise.all([
      this.#redis.hexists(this.#goneKey(receiver), 'gone'),
      this.#redis.pttl(this.#keys.hookPause(hostKey(receiver))),
    ]);
    return { isGone: gone === 1, pausedMs: Math.max(pausedMs, 0) };
  }

  /** Sends nothing to this host for `ms`. A longer pause stays. */
  async pause(receiver: Receiver, ms: number): Promise<void> {
    const key = this.#keys.hookPause(hostKey(receiver));
    if ((await this.#redis.pttl(key)) < ms) await this.#redis.set(key, '', 'PX', Math.max(1, Math.round(ms)));
  }

  /** Sends nothing to this URL any more, until its owner requests redelivery or a test delivery succeeds. */
  async close(receiver: Receiver): Promise<void> {
    const key = this.#goneKey(receiver);
    await this.#redis.multi().hset(key, 'gone', 1).pexpire(key, KEEP_MS).exec();
  }

  /** Ends the pause of the host and opens a closed URL. */
  async reopen(receiver: Receiver): Promise<void> {
    await this.#redis.del(this.#goneKey(receiver), this.#keys.hookPause(hostKey(receiver)));
  }

  /** An attempt has succeeded. */
  async markHealthy(receiver: Receiver): Promise<void> {
    await this.#redis.del(this.#goneKey(receiver));
  }

  /** An attempt has failed. Returns for how long none has succeeded, ms. */
  async markFailing(receiver: Receiver): Promise<number> {
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

/**
 * A lock under which one of all processes does some work. It is renewed during the work, and a signal is aborted when it is lost, for
 * example because this process was frozen. It only saves work: two processes at once must do no harm, because every change that they
 * make is guarded by itself.
 */
import { randomUUID } from 'node:crypto';
import { defineScript, type Redis, type Script } from '../redis/index.ts';

/** KEYS[1] the lock, ARGV[1] the token of this process, ARGV[2] lifetime in ms. Takes or renews the lock; returns 1 if held. */
const HOLD_LUA = `
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2], 'NX') and 1 or 0`;
/** KEYS[1] the lock, ARGV[1] the token of this process. */
const RELEASE_LUA = `
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`;
const RENEWALS_PER_LIFETIME = 3;

export class WorkLock {
  readonly #key: string;
  readonly #lifetimeMs: number;
  readonly #token = randomUUID();
  readonly #hold: Script;
  readonly #release: Script;

  /** The lock outlives its last renewal by `lifetimeMs`. */
  constructor(redis: Redis, key: string, lifetimeMs: number) {
    this.#key = key;
    this.#lifetimeMs = lifetimeMs;
    this.#hold = defineScript(redis, 'lehrHoldLock', HOLD_LUA);
    this.#release = defineScript(redis, 'lehrReleaseLock', RELEASE_LUA);
  }

  /**
   * Does `work` if this process holds the lock or can take it, and keeps the lock afterwards. Returns whether it did. The
   * signal is aborted when the lock is lost.
   */
  async hold(work: (signal: AbortSignal) => Promise<void>): Promise<boolean> {
    if (!(await this.#takeOrRenew())) return false;
    const lost = new AbortController();
    const timer = setInterval(() => {
      this.#takeOrRenew().then(
        (isHeld) => isHeld || lost.abort(),
        // Redis does not answer; the next renewal decides.
        () => {},
      );
    }, this.#lifetimeMs / RENEWALS_PER_LIFETIME);
    try {
      await work(lost.signal);
    } finally {
      clearInterval(timer);
    }
    return true;
  }

  /** Lets another process take the lock at once. */
  async release(): Promise<void> {
    await this.#release.run([this.#key], [this.#token]);
  }

  async #takeOrRenew(): Promise<boolean> {
    return (await this.#hold.run([this.#key], [this.#token, this.#lifetimeMs])) === 1;
  }
}

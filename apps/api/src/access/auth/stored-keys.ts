/**
 * Accepts the keys in Redis. A key is cached for half a second: a busy caller costs no round trip, and every process refuses a
 * revoked key within a second.
 */
import type { Clock, Log } from '@lehr/shared';
import { Recent } from '../../base/recent.ts';
import type { Authenticator, Caller } from './authenticator.ts';
import { type KeyText, readKey } from './key-secrets.ts';
import type { KeyStore, StoredKey } from './key-store.ts';

const CACHE_MS = 500;
/** The cache is cleared above this, so that requests with random ids cannot fill the memory. */
const MAX_CACHED_KEYS = 10_000;
const USE_STORED_EVERY_MS = 60_000;

interface CachedKey {
  readonly stored: StoredKey;
  readonly caller: Caller;
}

export class StoredKeys implements Authenticator {
  readonly #store: KeyStore;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #cache = new Map<string, Recent<CachedKey | undefined>>();
  /** Ids whose last use is being stored. */
  readonly #storing = new Set<string>();

  constructor(store: KeyStore, clock: Clock, log: Log) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
  }

  async authenticate(key: string): Promise<Caller | undefined> {
    const text = readKey(key);
    if (!text) return undefined;
    const known = await this.#find(text.id);
    if (!known) return undefined;
    const match = this.#store.matchSecret(known.stored, text.secret);
    if (match === 'wrong') return undefined;
    const now = this.#clock.now();
    if (isExpired(known, now)) return undefined;
    const { last_used_at } = known.stored;
    const isOutdated = match === 'outdated';
    if (isOutdated || now - (last_used_at ?? 0) >= USE_STORED_EVERY_MS) this.#storeUse(text, now, isOutdated);
    return known.caller;
  }

  async find(keyId: string): Promise<Caller | undefined> {
    const known = await this.#find(keyId);
    return known && !isExpired(known, this.#clock.now()) ? known.caller : undefined;
  }

  #find(id: string): Promise<CachedKey | undefined> {
    let recent = this.#cache.get(id);
    if (!recent) {
      if (this.#cache.size >= MAX_CACHED_KEYS) this.#cache.clear();
      recent = new Recent(() => this.#read(id), CACHE_MS, this.#clock);
      this.#cache.set(id, recent);
    }
    return recent.get();
  }

  async #read(id: string): Promise<CachedKey | undefined> {
    const stored = await this.#store.find(id);
    if (!stored) return undefined;
    const { tenant, scopes, limits } = stored;
    return { stored, caller: { tenant, keyId: id, scopes: new Set(scopes), limits } };
  }

  /**
   * Stores the last use, and the digest again when it was made with the other pepper. Runs in the background: a request neither
   * waits for it nor fails with it.
   */
  #storeUse({ id, secret }: KeyText, now: number, isOutdated: boolean): void {
    if (this.#storing.has(id)) return;
    this.#storing.add(id);
    Promise.all([this.#store.markUsed(id, now), ...(isOutdated ? [this.#store.renewDigest(id, secret)] : [])])
      .catch((error) => this.#log.warn({ error, key: id }, 'the last use of a key was not stored'))
      .finally(() => {
        // The cached key has an older last_used_at and digest.
        this.#cache.delete(id);
        this.#storing.delete(id);
      });
  }
}

const isExpired = ({ stored: { expires_at } }: CachedKey, now: number): boolean =>
  expires_at !== undefined && expires_at <= now;

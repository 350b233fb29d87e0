/**
 * Keys that administrators made. What was read of a key is good for half a second, so a busy caller costs no round trip and a
 * revoked key works nowhere a second later.
 */
import type { Clock, Log } from '@lehr/shared';
import { Recent } from '../recent.ts';
import type { Authenticator, Caller } from './authenticator.ts';
import type { KeyStore, StoredKey } from './key-store.ts';
import { readKey } from './key-text.ts';

const FRESH_MS = 500;
/** Keys remembered before all are forgotten: whoever guesses ids must not fill the memory. */
const MAX_KEYS = 10_000;
const USE_NOTED_EVERY_MS = 60_000;

interface Known {
  readonly stored: StoredKey;
  readonly caller: Caller;
}

export class StoredKeys implements Authenticator {
  readonly #store: KeyStore;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #known = new Map<string, Recent<Known | undefined>>();
  /** Ids whose use is being noted. */
  readonly #noting = new Set<string>();

  constructor(store: KeyStore, clock: Clock, log: Log) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
  }

  async authenticate(key: string): Promise<Caller | undefined> {
    const text = readKey(key);
    if (!text) return undefined;
    const known = await this.#find(text.id);
    if (!known || !this.#store.isSecretOf(known.stored, text.secret)) return undefined;
    const now = this.#clock.now();
    const { expires_at, last_used_at } = known.stored;
    if (expires_at !== undefined && expires_at <= now) return undefined;
    if (now - (last_used_at ?? 0) >= USE_NOTED_EVERY_MS) this.#noteUse(text.id, now);
    return known.caller;
  }

  #find(id: string): Promise<Known | undefined> {
    let recent = this.#known.get(id);
    if (!recent) {
      if (this.#known.size >= MAX_KEYS) this.#known.clear();
      recent = new Recent(() => this.#read(id), FRESH_MS, this.#clock);
      this.#known.set(id, recent);
    }
    return recent.get();
  }

  async #read(id: string): Promise<Known | undefined> {
    const stored = await this.#store.find(id);
    if (!stored) return undefined;
    const { tenant, scopes, limits } = stored;
    return { stored, caller: { tenant, keyId: id, scopes: new Set(scopes), limits } };
  }

  /** Nobody waits for it, and it is not worth a refusal. */
  #noteUse(id: string, now: number): void {
    if (this.#noting.has(id)) return;
    this.#noting.add(id);
    this.#store
      .markUsed(id, now)
      .catch((error) => this.#log.warn({ error, key: id }, 'the use of a key was not noted'))
      .finally(() => {
        // What is remembered of the key is older than the note.
        this.#known.delete(id);
        this.#noting.delete(id);
      });
  }
}

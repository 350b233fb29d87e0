/**
 * Limits the open event streams of a key or tenant at this process. Each one costs a socket, a subscription and a read from
 * Redis every two seconds until its job ends.
 */
import { type Quota, QuotaError } from './quota.ts';

export interface StreamHolder {
  /** Streams with the same name are counted together. */
  readonly name: string;
  /** Names the holder in messages. */
  readonly label: string;
  /** Null: no limit. */
  readonly limit: number | null;
  /** The key that opened the stream; absent for signed links, which are valid without a key. */
  readonly keyId?: string;
}

/** A guess: a stream can end at any time. */
const RETRY_S = 5;

export class Streams {
  readonly #open = new Map<string, number>();
  /** What ends the open streams of each key. */
  readonly #ends = new Map<string, Set<() => void>>();

  /** Throws QuotaError at the limit. Call it before the response starts, while an error can still be sent. */
  check({ name, label, limit }: StreamHolder): void {
    const open = this.#open.get(name) ?? 0;
    if (limit === null || open < limit) return;
    const quota: Quota = { limit, remaining: 0, resetS: RETRY_S };
    throw new QuotaError(`${label} may have ${limit} event streams open at once, and ${open} are.`, quota);
  }

  /** The keys with open streams. */
  get keyIds(): string[] {
    return [...this.#ends.keys()];
  }

  /** Ends the open streams of a key. */
  endAll(keyId: string): void {
    for (const end of this.#ends.get(keyId) ?? []) end();
  }

  /** Counts a stream until the returned function is called. `end` is called to end the stream early. Throws as `check` does. */
  enter(holder: StreamHolder, end: () => void = () => {}): () => void {
    this.check(holder);
    const { name, keyId } = holder;
    this.#open.set(name, (this.#open.get(name) ?? 0) + 1);
    const ends = (keyId === undefined ? undefined : this.#ends.get(keyId)) ?? new Set();
    ends.add(end);
    if (keyId !== undefined) this.#ends.set(keyId, ends);
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      ends.delete(end);
      if (keyId !== undefined && ends.size === 0) this.#ends.delete(keyId);
      const left = (this.#open.get(name) ?? 1) - 1;
      if (left > 0) this.#open.set(name, left);
      else this.#open.delete(name);
    };
  }
}

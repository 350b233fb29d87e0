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
}

/** A guess: a stream can end at any time. */
const RETRY_S = 5;

export class Streams {
  readonly #open = new Map<string, number>();

  /** Throws QuotaError at the limit. Call it before the response starts, while an error can still be sent. */
  check({ name, label, limit }: StreamHolder): void {
    const open = this.#open.get(name) ?? 0;
    if (limit === null || open < limit) return;
    const quota: Quota = { limit, remaining: 0, resetS: RETRY_S };
    throw new QuotaError(`${label} may have ${limit} event streams open at once, and ${open} are.`, quota);
  }

  /** Counts a stream until the returned function is called. Throws as `check` does: others may have opened since. */
  enter(holder: StreamHolder): () => void {
    this.check(holder);
    const { name } = holder;
    this.#open.set(name, (this.#open.get(name) ?? 0) + 1);
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      const left = (this.#open.get(name) ?? 1) - 1;
      if (left > 0) this.#open.set(name, left);
      else this.#open.delete(name);
    };
  }
}

/**
 * How many streams of events somebody may have open at once at this process. Each costs a socket, a subscription and a look at
 * Redis every two seconds, for as long as its job lasts.
 */
import { type Quota, QuotaError } from './quota.ts';

export interface StreamHolder {
  /** Counted together. */
  readonly name: string;
  /** Names the holder in messages. */
  readonly label: string;
  /** Null: any number. */
  readonly limit: number | null;
}

/** A stream may end at any moment, and nobody knows when. */
const RETRY_S = 5;

export class Streams {
  readonly #open = new Map<string, number>();

  /** Throws QuotaError when one more would be too many. To be asked while a refusal can still be answered. */
  check({ name, label, limit }: StreamHolder): void {
    const open = this.#open.get(name) ?? 0;
    if (limit === null || open < limit) return;
    const quota: Quota = { limit, remaining: 0, resetS: RETRY_S };
    throw new QuotaError(`${label} may have ${limit} event streams open at once, and ${open} are.`, quota);
  }

  /** Counts one that opens; call what it returns when it has closed. Throws as `check`, for many that came at once. */
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

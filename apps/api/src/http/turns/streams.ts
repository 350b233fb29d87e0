/**
 * Limits the open event streams of a key or tenant at this process. Each one costs a socket, a subscription and a read from
 * Redis every two seconds until its job ends.
 */
import type { Scope } from '@lehr/shared';
import { type Quota, QuotaError } from '../../access/quota.ts';

export interface StreamHolder {
  /** Streams with the same name are counted together. */
  readonly name: string;
  /** Names the holder in messages. */
  readonly label: string;
  /** Null: no limit. */
  readonly limit: number | null;
  /**
   * The key that opened the stream, the scope that the stream requires, and the digest of the session if one opened it. Absent for
   * signed links, which are valid without a key.
   */
  readonly key?: { readonly id: string; readonly scope: Scope; readonly session?: string };
}

/** A guess: a stream can end at any time. */
const RETRY_S = 5;

interface OpenStream {
  readonly scope: Scope;
  readonly session: string | undefined;
  readonly end: () => void;
}

export class Streams {
  readonly #open = new Map<string, number>();
  /** What ends the open streams of each key. */
  readonly #ends = new Map<string, Set<OpenStream>>();

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

  /** Ends the open streams of a key that require another scope than these. */
  endWithout(keyId: string, scopes: ReadonlySet<Scope>): void {
    for (const { scope, end } of this.#ends.get(keyId) ?? []) if (!scopes.has(scope)) end();
  }

  /** The digests of the sessions of a key that have open streams. */
  sessionsOf(keyId: string): ReadonlySet<string> {
    const sessions = [...(this.#ends.get(keyId) ?? [])].map(({ session }) => session);
    return new Set(sessions.filter((session) => session !== undefined));
  }

  /** Ends the open streams of these sessions of a key. */
  endSessions(keyId: string, ended: ReadonlySet<string>): void {
    for (const { session, end } of this.#ends.get(keyId) ?? []) {
      if (session !== undefined && ended.has(session)) end();
    }
  }

  /** Counts a stream until the returned function is called. `end` is called to end the stream early. Throws as `check` does. */
  enter(holder: StreamHolder, end: () => void = () => {}): () => void {
    this.check(holder);
    const { name, key } = holder;
    this.#open.set(name, (this.#open.get(name) ?? 0) + 1);
    const forget = key && this.#remember(key.id, { scope: key.scope, session: key.session, end });
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      forget?.();
      const left = (this.#open.get(name) ?? 1) - 1;
      if (left > 0) this.#open.set(name, left);
      else this.#open.delete(name);
    };
  }

  #remember(keyId: string, stream: OpenStream): () => void {
    const ends = this.#ends.get(keyId) ?? new Set();
    this.#ends.set(keyId, ends.add(stream));
    return () => {
      ends.delete(stream);
      if (ends.size === 0) this.#ends.delete(keyId);
    };
  }
}

/**
 * The open event streams at this process: limited for each key and tenant, because each one costs a socket, a subscription and a read
 * from Redis every two seconds until its job ends; and ended when their key or session is.
 */
import {
  type Clock,
  DEFAULT_LIMITS,
  every,
  Holdings,
  type Log,
  type Scope,
  type TenantId,
} from '@lehr/shared';
import type { Authenticator, Caller } from '../access/auth/authenticator.ts';
import { type Quota, QuotaError } from '../access/quotas.ts';

/** `scope` is what the route of the stream requires. */
export const holderOf = ({ keyId, limits, session }: Caller, scope: Scope): StreamHolder => ({
  name: `key ${keyId}`,
  label: 'This key',
  limit: limits.max_streams,
  key: { id: keyId, scope, ...(session !== undefined && { session }) },
});

/** The link streams of a tenant share the default limit of a key. */
export const linkHolderOf = (tenant: TenantId): StreamHolder => ({
  name: `links of ${tenant}`,
  label: 'The event links of this tenant',
  limit: DEFAULT_LIMITS.max_streams,
});

/** A counted stream. */
export interface StreamPlace {
  /** Ends the count. */
  leave(): void;
  /** Aborts when the stream must end early, because its key lost the right to it or its session ended. */
  readonly ended: AbortSignal;
}

/**
 * Counts the stream of this request from now on, so that parallel requests cannot pass the limit together. `eventStream` ends the
 * count at the end of the stream, and the end of the request ends it in any case. Throws QuotaError when the limit is reached.
 */
export function enterStream(
  { method, signal }: Pick<Request, 'method' | 'signal'>,
  streams: Streams,
  holder: StreamHolder,
): StreamPlace {
  const ended = new AbortController();
  // The stream of a HEAD request is never read, so nothing would end its count.
  if (method === 'HEAD') {
    streams.check(holder);
    return { leave: () => {}, ended: ended.signal };
  }
  const leave = streams.enter(holder, () => ended.abort());
  signal.addEventListener('abort', leave, { once: true });
  return { leave, ended: ended.signal };
}

/** For the steps between `enterStream` and the answer: a failure ends the count. */
export async function orLeave<T>(place: StreamPlace | undefined, step: Promise<T>): Promise<T> {
  try {
    return await step;
  } catch (error) {
    place?.leave();
    throw error;
  }
}

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
  readonly #open = new Holdings();
  /** What ends the open streams of each key. */
  readonly #ends = new Map<string, Set<OpenStream>>();

  /** Throws QuotaError at the limit. Call it before the response starts, while an error can still be sent. */
  check({ name, label, limit }: StreamHolder): void {
    const open = this.#open.of(name);
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
    this.#open.add(name, 1);
    const forget = key && this.#remember(key.id, { scope: key.scope, session: key.session, end });
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      forget?.();
      this.#open.add(name, -1);
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

interface RevokedParts {
  readonly streams: Streams;
  readonly authenticator: Authenticator;
  readonly sessions: {
    /** Those of these digests whose sessions have ended. */
    endedOf(keyId: string, digests: ReadonlySet<string>): Promise<ReadonlySet<string>>;
  };
  readonly clock: Clock;
  readonly log: Log;
}

/** As fast as a new request with a revoked key is refused. */
const EVERY_MS = 1000;

/** Returns a function that stops the checks. */
export const endRevokedStreams = (parts: RevokedParts): (() => Promise<void>) =>
  every(EVERY_MS, () => endRevoked(parts), {
    ...parts,
    failed: 'the keys of open streams could not be checked; trying again',
  });

/** One check. A key that cannot be read keeps its streams until the next check, and the other keys are checked. */
export async function endRevoked({ streams, authenticator, sessions, log }: RevokedParts): Promise<void> {
  for (const key of streams.keyIds) {
    try {
      const caller = await authenticator.find(key);
      streams.endWithout(key, caller?.scopes ?? new Set());
      streams.endSessions(key, await sessions.endedOf(key, streams.sessionsOf(key)));
    } catch (error) {
      log.warn({ error, key }, 'the key of open streams could not be checked; trying again');
    }
  }
}

/** Event streams that count against the limit of a key or tenant. */
import { DEFAULT_LIMITS, type Scope, type TenantId } from '@lehr/shared';
import type { Caller } from '../access/auth/authenticator.ts';
import type { StreamHolder, Streams } from '../http/turns/streams.ts';

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

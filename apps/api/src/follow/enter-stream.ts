/** Event streams that count against the limit of a key or tenant. */
import type { TenantId } from '@lehr/shared';
import { DEFAULT_LIMITS } from '@lehr/shared';
import type { Caller } from '../auth/authenticator.ts';
import type { StreamHolder, Streams } from '../limits/streams.ts';

export const holderOf = ({ keyId, limits }: Caller): StreamHolder => ({
  name: `key ${keyId}`,
  label: 'This key',
  limit: limits.max_streams,
});

/** The link streams of a tenant share the default limit of a key. */
export const linkHolderOf = (tenant: TenantId): StreamHolder => ({
  name: `links of ${tenant}`,
  label: 'The event links of this tenant',
  limit: DEFAULT_LIMITS.max_streams,
});

/**
 * Counts the stream of this request from now on, so that parallel requests cannot pass the limit together. The returned function
 * ends the count; `eventStream` calls it at the end of the stream, and the end of the request calls it in any case. Throws
 * QuotaError when the limit is reached.
 */
export function enterStream(
  { method, signal }: Pick<Request, 'method' | 'signal'>,
  streams: Streams,
  holder: StreamHolder,
): () => void {
  // The stream of a HEAD request is never read, so nothing would end its count.
  if (method === 'HEAD') {
    streams.check(holder);
    return () => {};
  }
  const leave = streams.enter(holder);
  signal.addEventListener('abort', leave, { once: true });
  return leave;
}

/** For the steps between `enterStream` and the answer: a failure ends the count. */
export async function orLeave<T>(leave: (() => void) | undefined, step: Promise<T>): Promise<T> {
  try {
    return await step;
  } catch (error) {
    leave?.();
    throw error;
  }
}

import type { TenantId } from '@lehr/shared';
import { DEFAULT_LIMITS } from '@lehr/shared';
import type { Caller } from '../auth/authenticator.ts';
import type { StreamHolder, Streams } from '../limits/streams.ts';
import { eventStream } from './sse.ts';

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

/** As `eventStream`; counts against the holder's limit while it is open. Throws QuotaError when the limit is reached. */
export function countedStream(
  streams: Streams,
  holder: StreamHolder,
  open: (disconnected: AbortSignal) => AsyncGenerator<string>,
): ReadableStream<Uint8Array> {
  streams.check(holder);
  return eventStream((disconnected) => {
    const leave = streams.enter(holder);
    // A generator that was never started does not run its `finally`: the client may disconnect before the first event.
    disconnected.addEventListener('abort', leave, { once: true });
    return leaveAtEnd(open(disconnected), leave);
  });
}

async function* leaveAtEnd(chunks: AsyncGenerator<string>, leave: () => void): AsyncGenerator<string> {
  try {
    yield* chunks;
  } finally {
    leave();
  }
}

import type { TenantId } from '@lehr/shared';
import { DEFAULT_LIMITS } from '@lehr/shared';
import type { Caller } from '../auth/authenticator.ts';
import type { StreamHolder, Streams } from '../limits/streams.ts';
import { eventStream } from './sse.ts';

export const holderOf = ({ keyId, limits }: Caller): StreamHolder => ({
  name: `key ${keyId}`,
  said: 'This key',
  limit: limits.max_streams,
});

/** Links are nobody's key; those of one tenant share what a key has that says nothing else. */
export const linkHolderOf = (tenant: TenantId): StreamHolder => ({
  name: `links of ${tenant}`,
  said: 'Those who follow by a link',
  limit: DEFAULT_LIMITS.max_streams,
});

/** As `eventStream`, counted as its holder's for as long as it is open. Throws QuotaError when that would be one too many. */
export function countedStream(
  streams: Streams,
  holder: StreamHolder,
  open: (gone: AbortSignal) => AsyncGenerator<string>,
): ReadableStream<Uint8Array> {
  streams.check(holder);
  return eventStream((gone) => {
    const leave = streams.enter(holder);
    // Whoever goes before the first event leaves a generator that never began, and so never ends.
    gone.addEventListener('abort', leave, { once: true });
    return leaving(open(gone), leave);
  });
}

async function* leaving(chunks: AsyncGenerator<string>, leave: () => void): AsyncGenerator<string> {
  try {
    yield* chunks;
  } finally {
    leave();
  }
}

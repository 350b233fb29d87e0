/** Server-sent events (HTML Living Standard, 9.2). */
import { randomInt } from 'node:crypto';
import type { StreamPlace } from './enter-stream.ts';

export interface ServerSentEvent {
  /** A client that reconnects sends it as `Last-Event-ID`. */
  readonly id?: string;
  readonly event?: string;
  readonly data: string;
}

/** A comment, sent so that proxies do not close an idle connection. */
export const PING = ': ping\n\n';

export const SSE_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'private, no-store',
  // Without it nginx buffers events.
  'x-accel-buffering': 'no',
} as const;

/** Browsers reconnect after a random time in this range, so that those of a stopped server do not all reconnect at once. */
const RECONNECT_MS = [1000, 3000] as const;

export function formatEvent({ id, event, data }: ServerSentEvent): string {
  const lines = data.split(/\r\n|\r|\n/).map((line) => `data: ${line}`);
  if (event !== undefined) lines.unshift(`event: ${event}`);
  if (id !== undefined) lines.unshift(`id: ${id}`);
  return `${lines.join('\n')}\n\n`;
}

/**
 * A body of the chunks that `open` yields. A chunk is taken only when the client has room for it, so a slow client slows its own
 * source and no other. `open` is called at the first read (a HEAD request reads nothing); its signal aborts when the client
 * disconnects, or the place ends. The place is left when the source ends or fails, and when the client
 * disconnects, also before the first read.
 */
export function eventStream(
  open: (disconnected: AbortSignal) => AsyncGenerator<string>,
  place?: StreamPlace,
): ReadableStream<Uint8Array> {
  const disconnected = new AbortController();
  place?.ended.addEventListener('abort', () => disconnected.abort(), { once: true });
  const encoder = new TextEncoder();
  let chunks: AsyncGenerator<string> | undefined;
  return new ReadableStream(
    {
      pull: async (controller) => {
        if (!chunks) {
          chunks = open(disconnected.signal);
          controller.enqueue(encoder.encode(`retry: ${randomInt(...RECONNECT_MS)}\n\n`));
          return;
        }
        const { done, value } = await nextOf(chunks, place);
        if (done) controller.close();
        else controller.enqueue(encoder.encode(value));
      },
      cancel: async () => {
        place?.leave();
        disconnected.abort();
        await chunks?.return(undefined);
      },
    },
    { highWaterMark: 0 },
  );
}

async function nextOf(
  chunks: AsyncGenerator<string>,
  place: StreamPlace | undefined,
): Promise<IteratorResult<string, unknown>> {
  try {
    const next = await chunks.next();
    if (next.done) place?.leave();
    return next;
  } catch (error) {
    place?.leave();
    throw error;
  }
}

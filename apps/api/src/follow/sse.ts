/** Server-sent events (HTML Living Standard, 9.2). */
import { randomInt } from 'node:crypto';
import { LehrError } from '@lehr/shared';
import type { StreamPlace } from './streams.ts';

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

const isComment = (chunk: string): boolean => chunk.startsWith(':');

export function formatEvent({ id, event, data }: ServerSentEvent): string {
  const lines = data.split(/\r\n|\r|\n/).map((line) => `data: ${line}`);
  if (event !== undefined) lines.unshift(`event: ${event}`);
  if (id !== undefined) lines.unshift(`id: ${id}`);
  return `${lines.join('\n')}\n\n`;
}

/**
 * A body that begins with a comment, so that the client gets the headers at once, and then has the chunks that `open` yields. The
 * first event has the time after which to reconnect: some clients take a block with nothing else for an event without data. A chunk is taken only when the client has room for it, so a slow client slows its own
 * source and no other. `open` is called at the first read (a HEAD request reads nothing); its signal aborts when the client
 * disconnects, or the place ends. The place is left when the source ends or fails, and when the client
 * disconnects or the place ends, also before the first read. A place that ends closes the body for a client that waits for the
 * next chunk, and breaks it off for one that reads nothing, so that the server closes the connection.
 */
export function eventStream(
  open: (disconnected: AbortSignal) => AsyncGenerator<string>,
  place?: StreamPlace,
): ReadableStream<Uint8Array> {
  const disconnected = new AbortController();
  const encoder = new TextEncoder();
  let chunks: AsyncGenerator<string> | undefined;
  let clientWaits = false;
  let hasEvents = false;
  const encode = (chunk: string): Uint8Array => {
    const isFirst = !hasEvents && !isComment(chunk);
    hasEvents ||= isFirst;
    return encoder.encode(isFirst ? `retry: ${randomInt(...RECONNECT_MS)}\n${chunk}` : chunk);
  };
  const end = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
    place?.leave();
    disconnected.abort();
    // The aborted source ends, and with it the body.
    if (clientWaits) return;
    controller.error(new LehrError('forbidden', 'The key of this stream lost the right to it.'));
    chunks?.return(undefined).catch(() => {});
  };
  return new ReadableStream(
    {
      start: (controller) => {
        if (place?.ended.aborted) end(controller);
        else place?.ended.addEventListener('abort', () => end(controller), { once: true });
      },
      pull: async (controller) => {
        if (!chunks) {
          chunks = open(disconnected.signal);
          controller.enqueue(encode(PING));
          return;
        }
        clientWaits = true;
        const { done, value } = await nextOf(chunks, place);
        clientWaits = false;
        if (!done) controller.enqueue(encode(value));
        if (!done && !place?.ended.aborted) return;
        controller.close();
        await chunks.return(undefined);
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

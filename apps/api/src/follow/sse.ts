/** Server-sent events (HTML Living Standard, 9.2) as a response. */
import { randomInt } from 'node:crypto';

export interface ServerSentEvent {
  /** What a client that comes back sends as `Last-Event-ID`. */
  readonly id?: string;
  readonly event?: string;
  readonly data: string;
}

/** A comment: it keeps proxies from taking a quiet connection for a dead one. */
export const PING = ': ping\n\n';

export const SSE_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'private, no-store',
  // nginx would collect events until it has a page of them.
  'x-accel-buffering': 'no',
} as const;

/** Browsers come back after about so long; spread, so that those of a stopped server do not all return at once. */
const RETRY_MS = [1000, 3000] as const;

export function formatEvent({ id, event, data }: ServerSentEvent): string {
  const lines = data.split(/\r\n|\r|\n/).map((line) => `data: ${line}`);
  if (event !== undefined) lines.unshift(`event: ${event}`);
  if (id !== undefined) lines.unshift(`id: ${id}`);
  return `${lines.join('\n')}\n\n`;
}

/**
 * A body of the chunks that `open` yields. Nothing is taken from it before the client has room for more, so a slow client holds
 * its source back and no one else. `open` is called at the first read (a HEAD reads nothing) with a signal that aborts
 * when the client has gone.
 */
export function eventStream(open: (gone: AbortSignal) => AsyncGenerator<string>): ReadableStream<Uint8Array> {
  const gone = new AbortController();
  const encoder = new TextEncoder();
  let chunks: AsyncGenerator<string> | undefined;
  return new ReadableStream(
    {
      pull: async (controller) => {
        if (!chunks) {
          chunks = open(gone.signal);
          controller.enqueue(encoder.encode(`retry: ${randomInt(...RETRY_MS)}\n\n`));
          return;
        }
        const { done, value } = await chunks.next();
        if (done) controller.close();
        else controller.enqueue(encoder.encode(value));
      },
      cancel: async () => {
        gone.abort();
        await chunks?.return(undefined);
      },
    },
    { highWaterMark: 0 },
  );
}

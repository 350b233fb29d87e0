// Exactly 3.0.6: versions 3.0.7 to 3.1.1 hold back the last event of a stream whose lines end in \r, and 4 needs Node 22.
import { createParser } from 'eventsource-parser';

export interface ServerSentEvent {
  readonly id?: string | undefined;
  readonly event?: string | undefined;
  readonly data: string;
}

export interface SseHandlers {
  /** Called for every piece of data that arrives, also for a comment. */
  readonly onBytes: () => void;
  /** Called when the server sends a delay for the next connection. */
  readonly onRetry: (ms: number) => void;
}

/** Yields the events of a stream. Ignores an event that is cut off by the end of the stream. Leaving the loop cancels the body. */
export async function* readServerSentEvents(
  body: ReadableStream<Uint8Array>,
  { onBytes, onRetry }: SseHandlers,
): AsyncGenerator<ServerSentEvent, undefined> {
  const decoder = new TextDecoder();
  const events: ServerSentEvent[] = [];
  const parser = createParser({ onEvent: (event) => events.push(event), onRetry });
  for await (const chunk of body) {
    onBytes();
    parser.feed(decoder.decode(chunk, { stream: true }));
    yield* events.splice(0);
  }
}

/** Reads a stream of server-sent events (HTML Living Standard, 9.2.6). */

export interface ServerSentEvent {
  readonly id: string | undefined;
  readonly event: string;
  readonly data: string;
}

export interface SseHandlers {
  /** Anything came, be it a comment. */
  readonly onBytes: () => void;
  /** The server said after how long to come back. */
  readonly onRetry: (ms: number) => void;
}

/** An event that is cut off by the end of the stream is not one. Leaving the loop cancels the body. */
export async function* readServerSentEvents(
  body: ReadableStream<Uint8Array>,
  { onBytes, onRetry }: SseHandlers,
): AsyncGenerator<ServerSentEvent, undefined> {
  const decoder = new TextDecoder();
  let rest = '';
  let fields: Fields = {};
  for await (const chunk of body) {
    onBytes();
    rest += decoder.decode(chunk, { stream: true });
    // A "\r" at the very end may be half of a "\r\n".
    const lines = rest.split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line !== '') {
        const retryMs = take(fields, line);
        if (retryMs !== undefined) onRetry(retryMs);
        continue;
      }
      const { id, event = 'message', data } = fields;
      fields = {};
      if (data !== undefined) yield { id, event, data };
    }
  }
}

interface Fields {
  id?: string;
  event?: string;
  data?: string;
}

/** Adds a line to the event it belongs to; returns the time to wait when the line says that. */
function take(fields: Fields, line: string): number | undefined {
  const [, name, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
  switch (name) {
    case 'data':
      fields.data = fields.data === undefined ? value : `${fields.data}\n${value}`;
      return undefined;
    case 'event':
      fields.event = value;
      return undefined;
    case 'id':
      fields.id = value;
      return undefined;
    case 'retry':
      return /^\d+$/.test(value) ? Number(value) : undefined;
    default:
      return undefined;
  }
}

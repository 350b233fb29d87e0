/** Reads a stream of server-sent events as a client does: HTML Living Standard, 9.2.6, as far as Lehr uses it. */
import { type JobEvent, JobEventSchema } from '../../packages/shared/src/index.ts';

export interface StreamedEvent {
  readonly id?: string;
  readonly event: string;
  readonly data: JobEvent;
}

/** The events of a response, each checked against its schema; comments are left out. Leaving the loop hangs up. */
export async function* readEvents(response: Response): AsyncGenerator<StreamedEvent, undefined> {
  if (!response.body) throw new Error(`an answer of ${response.status} without a body`);
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of response.body) {
    text += decoder.decode(chunk, { stream: true });
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const event = parse(text.slice(0, end));
      text = text.slice(end + 2);
      if (event) yield event;
    }
  }
  if (text !== '') throw new Error(`the stream ended inside an event: ${text}`);
}

function parse(block: string): StreamedEvent | undefined {
  const fields = new Map<string, string>();
  for (const line of block.split('\n')) {
    const [, name, value] = /^(\w*): ?(.*)$/.exec(line) ?? [];
    if (name === undefined) throw new Error(`not a line of an event: ${line}`);
    if (name !== '') fields.set(name, value);
  }
  const [id, event, data] = [fields.get('id'), fields.get('event'), fields.get('data')];
  if (event === undefined || data === undefined) return undefined;
  return { ...(id !== undefined && { id }), event, data: JobEventSchema.parse(JSON.parse(data)) };
}

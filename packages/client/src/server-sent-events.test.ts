import { expect, test } from 'vitest';
import { readServerSentEvents, type ServerSentEvent } from './server-sent-events.ts';

async function read(...chunks: readonly (string | Uint8Array)[]) {
  const encoder = new TextEncoder();
  const retries: number[] = [];
  let heard = 0;
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      for (const chunk of chunks) {
        controller.enqueue(typeof chunk === 'string' ? encoder.encode(chunk) : chunk);
      }
      controller.close();
    },
  });
  const events: ServerSentEvent[] = [];
  const handlers = {
    onBytes: () => {
      heard += 1;
    },
    onRetry: (ms: number) => retries.push(ms),
  };
  for await (const event of readServerSentEvents(body, handlers)) events.push(event);
  return { events, retries, heard };
}

test('an event has its id, its name and its data', async () => {
  const { events } = await read('id: 4\nevent: job.progress\ndata: {"step":2}\n\n');
  expect(events).toEqual([{ id: '4', event: 'job.progress', data: '{"step":2}' }]);
});

test.each(['\n', '\r\n', '\r'])('lines may end in %j', async (end) => {
  const { events } = await read(['id: 1', 'data: a', 'data: b', '', 'data: c', '', ''].join(end), ' ');
  expect(events.map(({ data }) => data)).toEqual(['a\nb', 'c']);
});

test('where the chunks are cut makes no difference, be it inside a character or a line end', async () => {
  const whole = new TextEncoder().encode('id: 1\r\ndata: glühend 🔥\r\n\r\nevent: x\r\ndata\r\n\r\n');
  const { events: wanted } = await read(whole);
  expect(wanted).toMatchObject([
    { id: '1', data: 'glühend 🔥' },
    { event: 'x', data: '' },
  ]);
  for (let at = 1; at < whole.length; at += 1) {
    const { events } = await read(whole.subarray(0, at), whole.subarray(at));
    expect(events, `cut at ${at}`).toEqual(wanted);
  }
});

test('a comment is heard but no event; a time to come back is told; an event cut off by the end is none', async () => {
  const { events, retries, heard } = await read(
    ': ping\n\n',
    'retry: 1500\n\n',
    'retry: soon\n\n',
    'data: cut',
  );
  expect({ events, retries, heard }).toEqual({ events: [], retries: [1500], heard: 4 });
});

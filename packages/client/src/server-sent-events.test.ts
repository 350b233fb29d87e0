import { expect, test } from 'vitest';
import { readServerSentEvents, type ServerSentEvent } from './server-sent-events.ts';

async function read(...chunks: readonly (string | Uint8Array)[]) {
  const encoder = new TextEncoder();
  const retries: number[] = [];
  let chunkCount = 0;
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
      chunkCount += 1;
    },
    onRetry: (ms: number) => retries.push(ms),
  };
  for await (const event of readServerSentEvents(body, handlers)) events.push(event);
  return { events, retries, chunkCount };
}

test('An event has its id, its name and its data', async () => {
  const { events } = await read('id: 4\nevent: job.progress\ndata: {"step":2}\n\n');
  expect(events).toEqual([{ id: '4', event: 'job.progress', data: '{"step":2}' }]);
});

test.each(['\n', '\r\n', '\r'])('Lines that end in %j are read', async (end) => {
  const { events } = await read(['id: 1', 'data: a', 'data: b', '', 'data: c', '', ''].join(end), ' ');
  expect(events.map(({ data }) => data)).toEqual(['a\nb', 'c']);
});

test('The events are the same wherever the chunks are cut, also inside a character or a line end', async () => {
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

test('A comment counts as data but not as an event, a retry delay is reported, and a cut-off event is ignored', async () => {
  const { events, retries, chunkCount } = await read(
    ': ping\n\n',
    'retry: 1500\n\n',
    'retry: soon\n\n',
    'data: cut',
  );
  expect({ events, retries, chunkCount }).toEqual({ events: [], retries: [1500], chunkCount: 4 });
});

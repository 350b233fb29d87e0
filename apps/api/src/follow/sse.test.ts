import { expect, test } from 'vitest';
import { eventStream, formatEvent } from './sse.ts';

test('an event has its id, its name and its data, and a line of data per line', () => {
  expect(formatEvent({ id: '4', event: 'job.progress', data: '{"step":2}' })).toBe(
    'id: 4\nevent: job.progress\ndata: {"step":2}\n\n',
  );
  expect(formatEvent({ data: 'one\ntwo' })).toBe('data: one\ndata: two\n\n');
  expect(formatEvent({ data: 'one\revent: done\r\ntwo' })).toBe(
    'data: one\ndata: event: done\ndata: two\n\n',
  );
});

/** Counts what is taken from it, and remembers how it ended. */
function source(chunks: number) {
  const seen = { taken: 0, closed: false, gone: false };
  const open = async function* (gone: AbortSignal): AsyncGenerator<string> {
    gone.addEventListener('abort', () => {
      seen.gone = true;
    });
    try {
      while (seen.taken < chunks) {
        seen.taken += 1;
        yield `data: ${seen.taken}\n\n`;
      }
    } finally {
      seen.closed = true;
    }
  };
  return { seen, open };
}

test('a body begins with when to come back, has every chunk, and ends', async () => {
  const { seen, open } = source(3);
  const text = await new Response(eventStream(open)).text();
  expect(text).toMatch(/^retry: [12]\d{3}\n\ndata: 1\n\ndata: 2\n\ndata: 3\n\n$/);
  expect(seen).toEqual({ taken: 3, closed: true, gone: false });
});

test('nothing is taken before it is asked for', async () => {
  const { seen, open } = source(100);
  const reader = eventStream(open).getReader();
  await new Promise(setImmediate);
  expect(seen.taken).toBe(0);
  for (let read = 0; read < 3; read++) await reader.read();
  await new Promise(setImmediate);
  expect(seen.taken).toBe(2);
});

test('a client that goes is told to the source, which is closed', async () => {
  const { seen, open } = source(100);
  const reader = eventStream(open).getReader();
  await reader.read();
  await reader.read();
  await reader.cancel();
  expect(seen).toEqual({ taken: 1, closed: true, gone: true });
});

test('a source that fails breaks the body off, so that nobody takes it for the end', async () => {
  const open = async function* (): AsyncGenerator<string> {
    yield 'data: 1\n\n';
    throw new Error('no more');
  };
  await expect(new Response(eventStream(open)).text()).rejects.toThrow('no more');
});

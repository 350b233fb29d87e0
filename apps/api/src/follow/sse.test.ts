import type { Scope } from '@lehr/shared';
import { expect, test } from 'vitest';
import { eventStream, formatEvent, PING } from './sse.ts';
import { enterStream, Streams } from './streams.ts';

test('An event has its id, its name and one data line per line of data', () => {
  expect(formatEvent({ id: '4', event: 'job.progress', data: '{"step":2}' })).toBe(
    'id: 4\nevent: job.progress\ndata: {"step":2}\n\n',
  );
  expect(formatEvent({ data: 'one\ntwo' })).toBe('data: one\ndata: two\n\n');
  expect(formatEvent({ data: 'one\revent: done\r\ntwo' })).toBe(
    'data: one\ndata: event: done\ndata: two\n\n',
  );
});

/** A source that counts the chunks taken from it and records how it ended. */
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

test('A body starts with a comment, has every chunk, the first one with the retry time, and ends', async () => {
  const { seen, open } = source(3);
  const text = await new Response(eventStream(open)).text();
  expect(text).toMatch(/^: ping\n\nretry: [12]\d{3}\ndata: 1\n\ndata: 2\n\ndata: 3\n\n$/);
  expect(seen).toEqual({ taken: 3, closed: true, gone: false });
});

test('The retry time is part of an event, also when comments come before it', async () => {
  const open = async function* (): AsyncGenerator<string> {
    yield PING;
    yield 'data: 1\n\n';
  };
  const text = await new Response(eventStream(open)).text();
  expect(text).toMatch(/^: ping\n\n: ping\n\nretry: \d+\ndata: 1\n\n$/);
});

test('A chunk is not taken from the source before the client reads', async () => {
  const { seen, open } = source(100);
  const reader = eventStream(open).getReader();
  await new Promise(setImmediate);
  expect(seen.taken).toBe(0);
  for (let read = 0; read < 3; read++) await reader.read();
  await new Promise(setImmediate);
  expect(seen.taken).toBe(2);
});

test('The source is aborted and closed when the client disconnects', async () => {
  const { seen, open } = source(100);
  const reader = eventStream(open).getReader();
  await reader.read();
  await reader.read();
  await reader.cancel();
  expect(seen).toEqual({ taken: 1, closed: true, gone: true });
});

test('The body breaks off when the source fails, so that it does not look complete', async () => {
  const open = async function* (): AsyncGenerator<string> {
    yield 'data: 1\n\n';
    throw new Error('no more');
  };
  await expect(new Response(eventStream(open)).text()).rejects.toThrow('no more');
});

/** A stream of a key that can lose the scope of the stream. */
function placed() {
  const streams = new Streams();
  const holder = { name: 'key k', label: '', limit: 1, key: { id: 'k', scope: 'read' as Scope } };
  return { streams, place: enterStream(new Request('http://localhost'), streams, holder) };
}

test('A client that reads nothing is disconnected and its place is free when its key loses the scope', async () => {
  const { seen, open } = source(100);
  const { streams, place } = placed();
  const reader = eventStream(open, place).getReader();
  await reader.read();
  await reader.read();
  streams.endWithout('k', new Set<Scope>(['submit']));
  expect(streams.keyIds).toEqual([]);
  await expect(reader.closed).rejects.toThrow('lost the right');
  expect(seen).toEqual({ taken: 1, closed: true, gone: true });
});

test('A body is broken off before the first read when its place has ended', async () => {
  const { seen, open } = source(100);
  const { streams, place } = placed();
  streams.endWithout('k', new Set());
  await expect(new Response(eventStream(open, place)).text()).rejects.toThrow('lost the right');
  expect(streams.keyIds).toEqual([]);
  expect(seen.taken).toBe(0);
});

test('A body closes without an error for a client that waits when its key loses the scope', async () => {
  const waiting = async function* (gone: AbortSignal): AsyncGenerator<string> {
    yield 'data: 1\n\n';
    await new Promise((resolve) => gone.addEventListener('abort', resolve));
  };
  const { streams, place } = placed();
  const reader = eventStream(waiting, place).getReader();
  await reader.read();
  await reader.read();
  const next = reader.read();
  await new Promise(setImmediate);
  streams.endWithout('k', new Set<Scope>(['read']));
  expect(streams.keyIds).toEqual(['k']);
  streams.endWithout('k', new Set<Scope>(['submit']));
  expect(await next).toMatchObject({ done: true });
  expect(streams.keyIds).toEqual([]);
});

import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Lehr } from './lehr.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const event = (id: number, type: string) =>
  `id: ${id}\nevent: ${type}\ndata: {"type":"${type}","timestamp":"2026-11-20T08:00:00.000Z","data":{"id":"job_1"}}\n\n`;

/** A stream that sends these texts, and then closes or sends nothing more. */
function streamOf(texts: readonly string[], then: 'silence' | 'close', signal: AbortSignal): Response {
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      for (const text of texts) controller.enqueue(new TextEncoder().encode(text));
      if (then === 'close') controller.close();
      signal.addEventListener('abort', () => controller.error(signal.reason));
    },
  });
  return new Response(body, { headers: { 'content-type': 'text/event-stream; charset=utf-8' } });
}

function lehrOver(connections: readonly (readonly [texts: readonly string[], then: 'silence' | 'close'])[]) {
  const asked: (string | null)[] = [];
  const lehr = new Lehr({
    url: 'http://lehr.test',
    maxRetries: 2,
    fetch: async (_, init) => {
      asked.push(new Headers(init?.headers).get('last-event-id'));
      const next = connections[asked.length - 1];
      if (!next) throw new TypeError('fetch failed', { cause: new Error('refused') });
      return streamOf(next[0], next[1], init?.signal as AbortSignal);
    },
  });
  return { lehr, asked };
}

async function typesOf(events: AsyncIterable<{ readonly type: string }>): Promise<string[]> {
  const types: string[] = [];
  for await (const { type } of events) types.push(type);
  return types;
}

test('A stream reconnects when it has received nothing for 45 s, not even a comment', async () => {
  const { lehr, asked } = lehrOver([
    [[event(1, 'job.queued'), ': ping\n\n'], 'silence'],
    [[event(2, 'job.started'), event(3, 'job.succeeded')], 'close'],
  ]);
  const types = typesOf(lehr.stream('job_1'));
  await vi.advanceTimersByTimeAsync(44_000);
  expect(asked).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(3_000);
  expect(await types).toEqual(['job.queued', 'job.started', 'job.succeeded']);
  expect(asked).toEqual([null, '1']);
});

test('A stream that closes repeatedly without an event fails; one that yields events does not', async () => {
  const news = [1, 2, 3, 4, 5].map((id) => [[event(id, 'job.progress')], 'close'] as const);
  const { lehr, asked } = lehrOver([...news, [[], 'close'], [[], 'close'], [[], 'close']]);
  const types = expect(typesOf(lehr.stream('job_1'))).rejects.toMatchObject({ code: 'connection-failed' });
  await vi.advanceTimersByTimeAsync(60_000);
  await types;
  expect(asked).toEqual([null, '1', '2', '3', '4', '5', '5']);
});

test('The server decides the delay before a reconnection', async () => {
  const { lehr, asked } = lehrOver([
    [['retry: 5000\n\n', event(1, 'job.queued')], 'close'],
    [[event(2, 'job.canceled')], 'close'],
  ]);
  const types = typesOf(lehr.stream('job_1'));
  await vi.advanceTimersByTimeAsync(4_900);
  expect(asked).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(200);
  expect(await types).toEqual(['job.queued', 'job.canceled']);
});

test('A call to a server that never answers is retried after the timeout, and then fails', async () => {
  let asked = 0;
  const lehr = new Lehr({
    url: 'http://lehr.test/',
    maxRetries: 1,
    timeoutMs: 10_000,
    fetch: (_, init) => {
      asked += 1;
      return new Promise((_, reject) => {
        init?.signal?.addEventListener('abort', () => reject(init.signal?.reason));
      });
    },
  });
  const got = expect(lehr.get('job_1')).rejects.toMatchObject({ code: 'connection-failed', retryable: true });
  await vi.advanceTimersByTimeAsync(9_900);
  expect(asked).toBe(1);
  await vi.advanceTimersByTimeAsync(11_000);
  await got;
  expect(asked).toBe(2);
  // The timeout of a held answer starts after its hold.
  const waited = expect(lehr.wait('job_1')).rejects.toMatchObject({ code: 'connection-failed' });
  await vi.advanceTimersByTimeAsync(39_000);
  expect(asked).toBe(3);
  await vi.advanceTimersByTimeAsync(45_000);
  await waited;
});

test('A signal can be used for many calls: each removes its listener', async () => {
  const { signal } = new AbortController();
  const lehr = new Lehr({
    url: 'http://lehr.test',
    fetch: async (url) =>
      String(url).endsWith('/events')
        ? streamOf([event(1, 'job.succeeded')], 'silence', new AbortController().signal)
        : new Response('{"data":[]}'),
  });
  for (let i = 0; i < 20; i += 1) {
    await lehr.models({ signal });
    await typesOf(lehr.stream('job_1', { signal }));
  }
  expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  expect(vi.getTimerCount()).toBe(0);
});

test.each(['lehr.example', '', 'ftp://lehr.example'])('The address %j is refused', (url) => {
  expect(() => new Lehr({ url })).toThrow(expect.objectContaining({ code: 'invalid-request' }));
});

/** A caller that hangs up in the middle of its body is not an error of the server. */
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { listen } from '../../apps/api/src/http/listen.ts';
import { type Log, silentLog } from '../../packages/shared/src/index.ts';
import { API_KEY, apiWorld } from '../support/api-world.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const REQUESTS: readonly (readonly [path: string, type: string, framing: string, part: string])[] = [
  ['/v1/jobs', 'application/json', 'content-length: 9000', '{"type":'],
  ['/v1/jobs', 'application/json', 'transfer-encoding: chunked', '8\r\n{"type":\r\n'],
  ['/v1/jobs', 'application/json', 'content-length: 9000000', '{"type":'],
  ['/t2i', 'application/json', 'content-length: 9000', '{"prompt":'],
  ['/models/tiny', 'application/json', 'content-length: 9000', '{"inputs":'],
  ['/models/tiny', 'audio/wav', 'content-length: 9000', 'RIFF'],
  ['/v1/keys', 'application/json', 'content-length: 9000', '{"tenant":'],
  ['/v1/files', 'multipart/form-data; boundary=x', 'content-length: 9000', '--x\r\ncontent-dis'],
];

test('A body that its caller breaks off is a 400, and logs no warning and no error', async () => {
  const logged: unknown[] = [];
  const note = (...line: unknown[]): void => void logged.push(line);
  const log: Log = { ...silentLog, warn: note, error: note };
  const world = await apiWorld(server.url, { log });
  const listener = await listen('127.0.0.1', 0);
  onTestFinished(() => listener.close(0));
  let arrived = (): void => {};
  listener.serve((request, bindings) => {
    arrived();
    return world.app.fetch(request, bindings);
  });
  for (const [path, type, framing, part] of REQUESTS) {
    const arrival = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    const socket = connect(listener.port, '127.0.0.1');
    socket.write(
      `POST ${path} HTTP/1.1\r\nhost: lehr\r\nauthorization: Bearer ${API_KEY}\r\ncontent-type: ${type}\r\n` +
        `${framing}\r\n\r\n${part}`,
    );
    await arrival;
    socket.resetAndDestroy();
  }
  const answered = async (): Promise<Record<string, number>> => {
    const counts: Record<string, number> = {};
    const page = await world.parts.metricsPage.render();
    for (const [, status, count] of page.matchAll(
      /^lehr_http_requests_total\{.*status="(\d+)".*\} (\d+)$/gm,
    )) {
      counts[status] = (counts[status] ?? 0) + Number(count);
    }
    return counts;
  };
  await expect.poll(answered).toEqual({ 400: REQUESTS.length });
  expect(logged).toEqual([]);
});

/** JSON bodies that stop half-way hold a bounded part of the memory, for a bounded time, and leave room for other tenants. */
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { BodyReads } from '../../apps/api/src/http/bodies/body-reads.ts';
import { fairAdmission } from '../../apps/api/src/http/fair-admission.ts';
import { listen } from '../../apps/api/src/http/listen.ts';
import { systemClock } from '../../packages/shared/src/index.ts';
import { type ApiWorld, apiWorld } from '../support/api-world.ts';
import { keyHolder } from '../support/key-holder.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const BODY_BYTES = 1_000_000;
/** Bodies of this size that one tenant may have on their way. */
const MAX_BODIES = 134;
const drawing = { type: 'text-to-image', input: { prompt: 'a circle' } };

async function served(world: ApiWorld): Promise<number> {
  const listener = await listen('127.0.0.1', 0);
  onTestFinished(() => listener.close(0));
  listener.serve(fairAdmission(world.app.fetch, world.parts));
  return listener.port;
}

interface Stalled {
  readonly socket: Socket;
  /** Resolves with the status of the answer. */
  readonly status: Promise<number>;
}

/** Sends the start of a body and then nothing. */
function stall(port: number, key: string, length: number): Stalled {
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => {});
  socket.write(
    `POST /v1/jobs HTTP/1.1\r\nhost: lehr\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\n` +
      `content-length: ${length}\r\n\r\n{"type":`,
  );
  const status = new Promise<number>((resolve) => {
    socket.once('data', (data) => resolve(Number(/^HTTP\/1\.1 (\d+)/.exec(String(data))?.[1])));
  });
  return { socket, status };
}

test('A tenant may have a bounded number of bytes on their way, and other tenants go on', async () => {
  const world = await apiWorld(server.url);
  const port = await served(world);
  const [greedy, polite] = [await keyHolder(world, 'greedy'), await keyHolder(world, 'polite')];
  const stalled = Array.from({ length: MAX_BODIES + 1 }, () => stall(port, greedy.key.key, BODY_BYTES));
  expect(await Promise.race(stalled.map(({ status }) => status))).toBe(503);
  expect(world.parts.bodyReads.bytes).toBe(MAX_BODIES * BODY_BYTES);
  const headers = { authorization: `Bearer ${polite.key.key}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ ...drawing, padding: 'x'.repeat(500_000) });
  const { status } = await fetch(`http://127.0.0.1:${port}/v1/jobs`, { method: 'POST', headers, body });
  // Refused for its unknown field, after it was read.
  expect(status).toBe(422);
  for (const { socket } of stalled) socket.resetAndDestroy();
  await expect.poll(() => world.parts.bodyReads.bytes).toBe(0);
});

test('Of large bodies a tenant has one on its way, and the others wait unread', async () => {
  const world = await apiWorld(server.url);
  const port = await served(world);
  const { key } = await keyHolder(world, 'greedy');
  const stalled = Array.from({ length: 17 }, () => stall(port, key.key, 15_000_000));
  // Sixteen wait for their turn.
  expect(await Promise.race(stalled.map(({ status }) => status))).toBe(503);
  expect(world.parts.bodyReads.bytes).toBe(15_000_000);
  for (const { socket } of stalled) socket.resetAndDestroy();
  await expect.poll(() => world.parts.bodyReads.bytes).toBe(0);
});

test('A body that stops half-way is a 408, and its connection closes', async () => {
  const bodyReads = new BodyReads(systemClock, { graceMs: 200, minBytesPerS: 1_000_000 });
  const world = await apiWorld(server.url, { bodyReads });
  const port = await served(world);
  const { key } = await keyHolder(world, 'acme');
  const { socket, status } = stall(port, key.key, 1000);
  const closed = new Promise((resolve) => socket.once('close', resolve));
  expect(await status).toBe(408);
  await closed;
});

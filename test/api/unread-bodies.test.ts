/** A request that is refused before its body is read gets its answer, and the server reads no more of it. */
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { listen } from '../../apps/api/src/http/listen.ts';
import { API_KEY, type ApiWorld, apiWorld } from '../support/api-world.ts';
import { keyHolder } from '../support/key-holder.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const MB = 1024 * 1024;
/** More than the buffers of both sockets hold. */
const FLOOD_BYTES = 512 * MB;
const MAX_TAKEN_BYTES = 32 * MB;

async function portOf(world: ApiWorld): Promise<number> {
  const listener = await listen('127.0.0.1', 0);
  onTestFinished(() => listener.close(0));
  listener.serve(world.app.fetch);
  return listener.port;
}

interface Flooded {
  readonly answer: string;
  readonly sentBytes: number;
}

/** Sends a body that does not end, until the server closes the connection. */
async function flood(port: number, head: string, chunk: Buffer): Promise<Flooded> {
  const socket = connect(port, '127.0.0.1');
  let answer = '';
  let isOpen = true;
  socket.on('data', (data: Buffer) => {
    answer += data.toString('latin1');
  });
  // The server resets the connection while more is sent.
  socket.on('error', () => {});
  const closed = new Promise<void>((resolve) => {
    socket.once('close', () => {
      isOpen = false;
      resolve();
    });
  });
  socket.write(head);
  let sentBytes = 0;
  while (isOpen && sentBytes < FLOOD_BYTES) {
    if (!socket.write(chunk)) {
      await Promise.race([closed, new Promise((resolve) => socket.once('drain', resolve))]);
    }
    sentBytes += chunk.byteLength;
  }
  if (isOpen) socket.destroy();
  await closed;
  return { answer, sentBytes };
}

const BYTES = Buffer.alloc(MB, 'a');
const CHUNK = Buffer.concat([
  Buffer.from(`${BYTES.byteLength.toString(16)}\r\n`),
  BYTES,
  Buffer.from('\r\n'),
]);

test.each([
  ['401', 'POST', '/v1/jobs', 'lehr_no_such_key'],
  ['401', 'POST', '/v1/files', undefined],
  ['401', 'POST', '/v1/audio/transcriptions', 'lehr_no_such_key'],
  ['404', 'POST', '/v1/nothing', API_KEY],
  ['404', 'PUT', '/nothing', undefined],
  ['405', 'PUT', '/v1/jobs', API_KEY],
  ['413', 'POST', '/v1/jobs', API_KEY],
])(
  'A %s to an endless body (%s %s) closes the connection after the answer',
  async (status, method, path, key) => {
    const port = await portOf(await apiWorld(server.url));
    const head =
      `${method} ${path} HTTP/1.1\r\nhost: lehr\r\ncontent-type: application/json\r\n` +
      `${key === undefined ? '' : `authorization: Bearer ${key}\r\n`}`;
    for (const [framing, chunk] of [
      ['transfer-encoding: chunked', CHUNK],
      [`content-length: ${FLOOD_BYTES * 2}`, BYTES],
    ] as const) {
      const { answer, sentBytes } = await flood(port, `${head}${framing}\r\n\r\n`, chunk);
      expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
      expect(answer).toMatch(/^connection: close\r$/im);
      expect(answer.match(/HTTP\/1\.1 /g)).toHaveLength(1);
      expect(sentBytes).toBeLessThan(MAX_TAKEN_BYTES);
    }
  },
);

test('A 403 and a 429 to an endless body close the connection as well', async () => {
  const world = await apiWorld(server.url);
  const port = await portOf(world);
  const reader = await keyHolder(world, 'acme', { scopes: ['read'] });
  const busy = await keyHolder(world, 'acme', { limits: { requests_per_minute: 1 } });
  await busy.ask('POST', '/v1/jobs', '{');
  for (const [holder, status] of [
    [reader, 403],
    [busy, 429],
  ] as const) {
    const head = `POST /v1/files HTTP/1.1\r\nhost: lehr\r\nauthorization: Bearer ${holder.key.key}\r\n`;
    const { answer, sentBytes } = await flood(port, `${head}transfer-encoding: chunked\r\n\r\n`, CHUNK);
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(sentBytes).toBeLessThan(MAX_TAKEN_BYTES);
  }
});

test('A refusal of a short body leaves the connection open for the next request', async () => {
  const port = await portOf(await apiWorld(server.url));
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  let received = '';
  socket.on('data', (data: Buffer) => {
    received += data.toString('latin1');
  });
  const body = 'a'.repeat(100_000);
  for (let i = 1; i <= 3; i++) {
    socket.write(`POST /v1/jobs HTTP/1.1\r\nhost: lehr\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
    await expect.poll(() => received.match(/HTTP\/1\.1 401 /g)?.length).toBe(i);
  }
  expect(received).not.toMatch(/^connection: close/im);
});

/** An upload holds one of few slots: each malformed, slow or broken upload gets an answer and gives its slot back. */
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fairAdmission } from '../../apps/api/src/http/fair-admission.ts';
import { listen } from '../../apps/api/src/http/listen.ts';
import { Files } from '../../apps/api/src/jobs/files/files.ts';
import { API_KEY, type ApiWorld, apiWorld, problemOf } from '../support/api-world.ts';
import { keyHolder } from '../support/key-holder.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const MULTIPART = { 'content-type': 'multipart/form-data; boundary=x' };
const FILE = '--x\r\ncontent-disposition: form-data; name="content"; filename="a.wav"\r\n\r\nbytes\r\n';
/** More than one tenant may hold at once, and more than there are. */
const MANY = 20;

const upload = ({ ask }: Pick<ApiWorld, 'ask'>, body: string): Promise<Response> =>
  ask('POST', '/v1/files', body, { headers: MULTIPART });

const streamed = ({ ask }: Pick<ApiWorld, 'ask'>, body: ReadableStream): Promise<Response> =>
  ask('POST', '/v1/files', undefined, { headers: MULTIPART, body, duplex: 'half' } as RequestInit);

/** Sends the head of a file and then nothing, and does not end. */
const stalled = (): ReadableStream =>
  new ReadableStream({ start: (body) => body.enqueue(Buffer.from(FILE.slice(0, 40))) });

async function expectFreeSlots(world: ApiWorld): Promise<void> {
  expect((await upload(world, `${FILE}--x--\r\n`)).status).toBe(201);
}

test.each([
  [
    'a part with 20,000 bytes of headers and no name',
    `--x\r\nx-pad: ${'a'.repeat(20_000)}\r\n\r\nb\r\n`,
    413,
  ],
  ['a part without a name', '--x\r\ncontent-disposition: form-data\r\n\r\nb\r\n', 400],
])('An upload with %s is refused, and many of them hold no slot', async (_, part, status) => {
  const world = await apiWorld(server.url);
  const body = `${part}${FILE}--x--\r\n`;
  for (let i = 0; i < MANY; i++) expect((await upload(world, body)).status).toBe(status);
  await expectFreeSlots(world);
});

test('Bytes before the first boundary and after a part count too, so a body of such bytes is not read to its end', async () => {
  const world = await apiWorld(server.url);
  for (const start of ['', '--x\r\ncontent-disposition: form-data; name="a"\r\n\r\n']) {
    let sentBytes = 0;
    const body = new ReadableStream({
      start: (to) => to.enqueue(Buffer.from(start)),
      pull: (to) => {
        sentBytes += 65_536;
        to.enqueue(Buffer.alloc(65_536, 'a'));
      },
    });
    expect([400, 413]).toContain((await streamed(world, body)).status);
    expect(sentBytes).toBeLessThan(4_000_000);
  }
  await expectFreeSlots(world);
});

test('An upload that arrives too slowly is answered 408 and frees its slot', async () => {
  const world = await apiWorld(server.url);
  const { redis, keys, store, storage, clock } = world.parts;
  const pace = { graceMs: 200, minBytesPerS: 1000 };
  const files = new Files({ redis, keys, store, storage, clock, ttlMs: 60_000, maxBytes: 1_000_000, pace });
  const quick = await apiWorld(server.url, { keys, redis, files });
  const answers = await Promise.all(Array.from({ length: 8 }, () => streamed(quick, stalled())));
  expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 408));
  expect(await problemOf(answers[0])).toMatchObject({ type: 'urn:lehr:problem:too-slow' });
  await expectFreeSlots(quick);
});

test('Callers that hang up in the middle of an upload free all of their slots', async () => {
  const world = await apiWorld(server.url);
  const listener = await listen('127.0.0.1', 0);
  listener.serve(fairAdmission(world.app.fetch, world.parts));
  const head =
    `POST /v1/files HTTP/1.1\r\nhost: lehr\r\nauthorization: Bearer ${API_KEY}\r\n` +
    `content-type: ${MULTIPART['content-type']}\r\ncontent-length: 9000\r\n\r\n`;
  const statuses = (count: number): Promise<number[]> =>
    Promise.all(Array.from({ length: count }, async () => (await upload(world, `${FILE}--x--\r\n`)).status));
  try {
    const sockets = Array.from({ length: 9 }, () => connect(listener.port, '127.0.0.1'));
    const answers = sockets.map(
      (socket) => new Promise<string>((resolve) => socket.once('data', (data) => resolve(String(data)))),
    );
    for (const socket of sockets) socket.write(head + FILE);
    // Eight hold a slot each, so the ninth is refused.
    expect(await Promise.race(answers)).toMatch(/^HTTP\/1\.1 503 /);
    for (const socket of sockets) socket.resetAndDestroy();
    await expect.poll(() => statuses(8)).toEqual(Array.from({ length: 8 }, () => 201));
  } finally {
    await listener.close(0);
  }
});

test('When most slots are taken, each tenant gets one, so a third tenant can still upload', async () => {
  const world = await apiWorld(server.url);
  const [first, second, third] = await Promise.all(['a', 'b', 'c'].map((name) => keyHolder(world, name)));
  const ends: (() => void)[] = [];
  const open = (): ReadableStream =>
    new ReadableStream({ start: (body) => void ends.push(() => body.close()) });
  const held = [first, second].flatMap((holder) =>
    Array.from({ length: 10 }, () => streamed(holder, open())),
  );
  const refused = await Promise.race(held);
  expect(refused.status).toBe(503);
  expect((await upload(third, `${FILE}--x--\r\n`)).status).toBe(201);
  for (const end of ends) end();
  const statuses = (await Promise.all(held)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 400)).toHaveLength(12);
});

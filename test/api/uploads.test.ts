/** A body that is too large is refused while it arrives, whatever its stated length, and without using memory. */
import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type LehrProcess, startLehr } from '../support/lehr-process.ts';
import { type OpenApiDocument, operationsOf } from '../support/openapi.ts';
import { freshKeys, startRedis, type TestRedis } from '../support/redis.ts';

const MB = 1024 * 1024;
const FLOOD_BYTES = 5 * 1024 * MB;
const GROWTH_BYTES = 50 * MB;
/** Bytes sent between two readings of the memory. */
const MEASURED_EVERY = 64 * MB;
const CHUNK = Buffer.alloc(MB, 'a');

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

interface Served {
  readonly process: LehrProcess;
  readonly url: URL;
  readonly key: string;
}

async function served(): Promise<Served> {
  const home = await mkdtemp(join(tmpdir(), 'lehr-uploads-'));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  const models = join(home, 'models.yaml');
  await writeFile(
    models,
    'models: [{ name: tiny, task: diffusion, versions: [{ version: "1", path: tiny }] }]',
  );
  const process = startLehr('api', {
    LEHR_HOME: home,
    LEHR_MODELS: models,
    LEHR_REDIS_URL: server.url,
    LEHR_NAMESPACE: freshKeys().prefix.slice(1, -1),
    LEHR_PORT: '0',
    LEHR_ROLES: 'http',
    LEHR_MAX_UPLOAD_MB: '25',
  });
  const { url } = await process.logged('API is listening');
  const key = (await readFile(join(home, 'api-key'), 'utf8')).trim();
  return { process, url: new URL(String(url)), key };
}

const residentBytes = (pid: number): number =>
  Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)]).toString()) * 1024;

interface Flood {
  readonly path: string;
  readonly type: string;
  /** Sent before the endless part. */
  readonly head: string;
  /** The stated content length, true or not; absent: chunked. */
  readonly length?: number;
}

interface Outcome {
  readonly answer: string;
  readonly sentBytes: number;
  readonly mostBytes: number;
}

/** Sends five gigabytes, or as much as the server reads, and does not stop at an answer. */
async function flood({ process, url, key }: Served, { path, type, head, length }: Flood): Promise<Outcome> {
  const socket = connect(Number(url.port), url.hostname);
  let answer = '';
  let isOpen = true;
  socket.on('data', (data: Buffer) => {
    answer += data.toString('latin1');
  });
  socket.on('error', () => {});
  const closed = new Promise<void>((resolve) => {
    socket.once('close', () => {
      isOpen = false;
      resolve();
    });
  });
  const next = (event: string): Promise<unknown> =>
    Promise.race([closed, new Promise((resolve) => socket.once(event, resolve))]);
  await next('connect');
  const framing = length === undefined ? 'transfer-encoding: chunked' : `content-length: ${length}`;
  socket.write(
    `POST ${path} HTTP/1.1\r\nhost: ${url.host}\r\nauthorization: Bearer ${key}\r\n` +
      `content-type: ${type}\r\n${framing}\r\n\r\n`,
  );
  const frame = (data: Buffer): Buffer =>
    length === undefined
      ? Buffer.concat([Buffer.from(`${data.byteLength.toString(16)}\r\n`), data, Buffer.from('\r\n')])
      : data;
  socket.write(frame(Buffer.from(head)));
  const framed = frame(CHUNK);
  let sentBytes = 0;
  let mostBytes = 0;
  while (isOpen && sentBytes < FLOOD_BYTES) {
    if (sentBytes % MEASURED_EVERY === 0) mostBytes = Math.max(mostBytes, residentBytes(process.pid));
    if (!socket.write(framed)) await next('drain');
    sentBytes += CHUNK.byteLength;
  }
  while (isOpen && !answer.includes('\r\n\r\n')) await next('data');
  socket.destroy();
  return { answer, sentBytes, mostBytes: Math.max(mostBytes, residentBytes(process.pid)) };
}

const MULTIPART = {
  type: 'multipart/form-data; boundary=x',
  head: '--x\r\ncontent-disposition: form-data; name="content"; filename="a.wav"\r\n\r\n',
};
const JSON_TEXT = { type: 'application/json', head: '{"type":"text-to-image","input":{"prompt":"' };

/** One for every route with a body. */
async function floodsOf({ url }: Served): Promise<Flood[]> {
  const document = (await (await fetch(new URL('/openapi.json', url))).json()) as OpenApiDocument;
  return operationsOf(document)
    .filter(({ method, contents }) => method === 'POST' && Object.keys(contents).length > 0)
    .flatMap(({ path, contents }) =>
      Object.keys(contents).map((type) => ({
        path: path.replace('{owner}', 'lehr').replace(/\{\w+\}/g, 'tiny'),
        ...(type.startsWith('multipart/') ? MULTIPART : JSON_TEXT),
      })),
    );
}

async function expectRefused(api: Served, each: Flood, mostGrowth: number, before: number): Promise<void> {
  const { answer, mostBytes } = await flood(api, each);
  expect(answer, each.path).toMatch(/^HTTP\/1\.1 413 /);
  expect(mostBytes - before, each.path).toBeLessThan(mostGrowth);
  expect((await fetch(new URL('/healthz', api.url))).status).toBe(200);
}

test('Every upload route refuses five gigabytes in chunks without using memory', {
  tags: ['long'],
}, async () => {
  let api = await served();
  const floods = (await floodsOf(api)).filter(({ type }) => type === MULTIPART.type);
  expect(floods.map(({ path }) => path)).toContain('/v1/files');
  for (const [i, each] of floods.entries()) {
    // A new process, so that garbage of the previous upload does not count.
    if (i > 0) api = await served();
    await expectRefused(api, each, GROWTH_BYTES, residentBytes(api.process.pid));
  }
});

test('Every route refuses five gigabytes of any body, chunked or with a length, without using memory', {
  tags: ['long'],
}, async () => {
  const api = await served();
  const before = residentBytes(api.process.pid);
  const floods = await floodsOf(api);
  expect(floods.map(({ path }) => path)).toEqual(expect.arrayContaining(['/v1/jobs', '/v1/keys', '/t2i']));
  const bodies = floods.filter(({ type }) => type === JSON_TEXT.type);
  for (const each of bodies) await expectRefused(api, each, 3 * GROWTH_BYTES, before);
  for (const each of floods.filter(({ path }) => path === '/v1/jobs' || path === '/v1/files')) {
    await expectRefused(api, { ...each, length: FLOOD_BYTES }, 3 * GROWTH_BYTES, before);
  }
});

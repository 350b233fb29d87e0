/** No body holds the event loop of the API: its shape is bounded before it is parsed, and large bodies are parsed in a thread. */
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { LargeBodies } from '../../apps/api/src/http/bodies/large-bodies.ts';
import { apiWorld } from '../support/api-world.ts';
import { type KeyHolder, keyHolder } from '../support/key-holder.ts';
import { startLehr } from '../support/lehr-process.ts';
import { freshKeys, startRedis, type TestRedis } from '../support/redis.ts';

const MB = 1024 * 1024;
/** Ticks of /proc per second. */
const TICKS_PER_S = 100;
/** Of the main thread, per request. Before these limits the same bodies took 2,000 to 8,000 ms. */
const MAX_CPU_MS = 300;

let redis: TestRedis;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

interface Served {
  post(path: string, body: string): Promise<Response>;
  /** CPU ms that the main thread, which runs the event loop, has used so far. */
  mainThreadMs(): number;
  /** The nice value of the main thread, and those of all threads. */
  niceness(): { main: number; all: number[] };
  /** Path of the folder with what callers uploaded and what jobs made. */
  readonly objects: string;
}

async function served(): Promise<Served> {
  const home = await mkdtemp(join(tmpdir(), 'lehr-bodies-'));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  const models = join(home, 'models.yaml');
  const entry = (name: string, task: string): string =>
    `{ name: ${name}, task: ${task}, versions: [{ version: "1", path: ${name} }] }`;
  await writeFile(models, `models: [${entry('tiny', 'diffusion')}, ${entry('ears', 'whisper')}]`);
  const api = startLehr('api', {
    LEHR_HOME: home,
    LEHR_MODELS: models,
    LEHR_REDIS_URL: redis.url,
    LEHR_NAMESPACE: freshKeys().prefix.slice(1, -1),
    LEHR_PORT: '0',
    LEHR_ROLES: 'http',
  });
  const { url } = await api.logged('API is listening');
  const key = (await readFile(join(home, 'api-key'), 'utf8')).trim();
  /** Fields of proc_pid_stat(5), from the third on. */
  const statOf = (thread: string | number): string[] =>
    readFileSync(`/proc/${api.pid}/task/${thread}/stat`, 'utf8').split(') ')[1].split(' ');
  return {
    post: (path, body) =>
      fetch(`${url}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body,
      }),
    mainThreadMs: () => {
      const [user, system] = statOf(api.pid).slice(11, 13).map(Number);
      return ((user + system) / TICKS_PER_S) * 1000;
    },
    niceness: () => ({
      main: Number(statOf(api.pid)[16]),
      all: readdirSync(`/proc/${api.pid}/task`).map((thread) => Number(statOf(thread)[16])),
    }),
    objects: join(home, 'objects'),
  };
}

const fields = (count: number): string => Array.from({ length: count }, (_, i) => `"f${i}":1`).join();
const nested = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`;

const HOSTILE: readonly (readonly [name: string, body: string])[] = [
  ['broken JSON of 15 MB', `{"a":"${'x'.repeat(14 * MB)}`],
  ['15 MB that look like the start of a bad number', `{"a":"${'\\"":'.repeat(3 * MB)}`],
  ['700,000 unknown fields', `{${fields(700_000)}}`],
  ['20,000 fields in a small body', `{${fields(20_000)}}`],
  ['nesting of 7,000,000 levels', nested(7_000_000)],
  ['nesting of 65 levels', `{"type":"text-to-image","metadata":{"a":${nested(64)}}}`],
  [
    'an audio URI of percent escapes',
    `{"type":"speech-to-text","input":{"audio":"data:audio/wav,${'%00'.repeat(4 * MB)}"}}`,
  ],
  [
    'an audio URI of parameters',
    `{"type":"speech-to-text","input":{"audio":"data:audio/wav${';a=b'.repeat(3 * MB)};base64,AA"}}`,
  ],
  ['a prompt of 14 MB', `{"type":"text-to-image","input":{"prompt":"${'x'.repeat(14 * MB)}"}}`],
];

const HOSTED = [
  '/v1/jobs',
  '/v1/models/lehr/tiny/predictions',
  '/t2i',
  '/v1/images/generations',
  '/v1/embeddings',
  '/models/tiny',
];

test('Bodies of hostile size or shape are refused, and cost the event loop little', {
  tags: ['long'],
}, async () => {
  const { post, mainThreadMs } = await served();
  await post('/v1/jobs', '{}');
  for (const [name, body] of HOSTILE) {
    for (const path of HOSTED) {
      const before = mainThreadMs();
      const answer = await post(path, body);
      expect([400, 413, 422], `${name} to ${path}`).toContain(answer.status);
      await answer.text();
      expect(mainThreadMs() - before, `${name} to ${path}`).toBeLessThan(MAX_CPU_MS);
    }
  }
  // On a busy machine the thread that parses gets little time.
});

test('Large bodies are parsed at a lower priority than that of the event loop', async () => {
  const { post, niceness } = await served();
  const { main, all } = niceness();
  expect(new Set(all)).toEqual(new Set([main]));
  await post('/v1/jobs', `{"a":"${'x'.repeat(2 * MB)}"}`);
  const later = niceness();
  expect(later.main).toBe(main);
  expect(later.all).toContain(Math.min(19, main + 10));
});

test('The memory of a large body moves to the thread that parses it', async () => {
  const largeBodies = new LargeBodies(new URL(`data:text/javascript,${encodeURIComponent(STUCK_THREAD)}`));
  const body = new TextEncoder().encode(`"second${'x'.repeat(MB)}"`);
  const parsing = largeBodies.parse(body, MB);
  expect(body.byteLength).toBe(0);
  await expect(parsing).rejects.toMatchObject({ code: 'invalid-request', message: 'It was read.' });
  await largeBodies.close();
});

test('A speech job with 10 MB of inline audio is taken, and its audio is stored byte for byte', async () => {
  const { post, objects } = await served();
  const audio = Buffer.alloc(10 * MB, 'audio');
  const uri = `data:audio/wav;base64,${audio.toString('base64')}`;
  const answer = await post('/v1/jobs', JSON.stringify({ type: 'speech-to-text', input: { audio: uri } }));
  expect(answer.status).toBe(202);
  const { id } = (await answer.json()) as { id: string };
  const stored = (await readdir(objects, { recursive: true })).filter((path) => path.includes(id));
  const files = await Promise.all(
    stored.map(async (path) => readFile(join(objects, path)).catch(() => Buffer.alloc(0))),
  );
  expect(files.some((file) => file.includes(audio))).toBe(true);
});

/** In place of the thread that parses: it answers nothing until it gets a body of the second tenant. */
const STUCK_THREAD = `
  import { parentPort } from 'node:worker_threads';
  const held = [];
  let isStuck = true;
  parentPort.on('message', ({ id, body }) => {
    held.push(id);
    if (new TextDecoder().decode(body).startsWith('"second')) isStuck = false;
    if (isStuck) return;
    for (const id of held.splice(0)) {
      parentPort.postMessage({ type: 'refused', id, code: 'invalid-request', message: 'It was read.' });
    }
  });`;

test('A tenant that sends many large bodies at once does not keep out the large body of another tenant', async () => {
  const largeBodies = new LargeBodies(new URL(`data:text/javascript,${encodeURIComponent(STUCK_THREAD)}`));
  const world = await apiWorld(redis.url, { largeBodies });
  const post = ({ ask, key }: KeyHolder): Promise<Response> => {
    const body = `"${key.tenant}${'x'.repeat(MB)}"`;
    return ask('POST', '/v1/jobs', body, { headers: { 'content-length': `${body.length}` } });
  };
  const [first, second] = [await keyHolder(world, 'first'), await keyHolder(world, 'second')];
  const many = Array.from({ length: 24 }, () => post(first));
  expect((await post(second)).status).toBe(400);
  const statuses = (await Promise.all(many)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 400)).toHaveLength(16);
  expect(statuses.filter((status) => status === 503)).toHaveLength(8);
  await largeBodies.close();
});

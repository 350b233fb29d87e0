/** Everything that fails in a run of all of Lehr is logged, and no line contains what callers sent or a secret. */
import { randomBytes } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openRedis, type Redis } from '../../packages/shared/src/redis/index.ts';
import type { LehrProcess } from '../support/lehr-process.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { type Stack, startStack } from '../support/stack.ts';
import { SLOW_MACHINE } from '../support/timeouts.ts';
import { tempFolder } from '../support/tiny-models.ts';
import { type WebhookReceiver, webhookReceiver } from '../support/webhook-receiver.ts';

const canary = (name: string): string => `canary${name}${randomBytes(6).toString('hex')}`;

/** What callers send; none of it may reach a log. */
const SENT = {
  prompt: canary('prompt'),
  negativePrompt: canary('negative'),
  metadata: canary('metadata'),
  hookToken: canary('token'),
  fileName: canary('file'),
  idempotencyKey: canary('once'),
  wrongKey: canary('key'),
};

interface World {
  readonly stack: Stack;
  readonly server: TestRedis;
  /** A connection of the test, which stays usable in every outage but a crash. */
  readonly redis: Redis;
  readonly receiver: WebhookReceiver;
  readonly worker: LehrProcess;
  readonly home: string;
  /** Secrets that Lehr gave out. */
  readonly given: string[];
}

async function startWorld(): Promise<World> {
  const server = await startRedis();
  onTestFinished(() => server.stop());
  const home = await tempFolder('canary');
  const stack = await startStack(server, {
    LEHR_HOME: home,
    LEHR_EGRESS_ALLOW: '*',
    LEHR_LEASE_MS: '2000',
  });
  const receiver = await webhookReceiver(500, `/${SENT.hookToken}?token=${SENT.hookToken}`);
  const redis = openRedis(server.url, 'worker', 'canary');
  onTestFinished(() => redis.disconnect());
  const worker = await stack.worker();
  return { stack, server, redis, receiver, worker, home, given: [stack.key] };
}

const request = ({ receiver }: World, input: object = {}, fields: object = {}): object => ({
  type: 'text-to-image',
  input: { prompt: SENT.prompt, negative_prompt: SENT.negativePrompt, ...input },
  metadata: { note: SENT.metadata },
  webhook: { url: receiver.url },
  ...fields,
});

/** Takes seconds, so that a fault happens while it runs. */
const LONG = { width: 512, height: 512, steps: 400 };

async function post(world: World, input?: object, fields?: object): Promise<Response> {
  const headers = { 'idempotency-key': SENT.idempotencyKey + randomBytes(4).toString('hex') };
  return world.stack.ask('POST', '/v1/jobs', request(world, input, fields), headers);
}

async function posted(world: World, input?: object, fields?: object): Promise<string> {
  const response = await post(world, input, fields);
  const text = await response.text();
  expect(response.status, text).toBe(202);
  return (JSON.parse(text) as { id: string }).id;
}

const hasStarted = (world: World, id: string): Promise<unknown> =>
  world.worker.line(({ msg, job }) => msg === 'job started' && job === id);

const warned = (process: LehrProcess, message: RegExp, from: number): Promise<void> =>
  vi.waitFor(
    () =>
      expect(
        process.lines
          .slice(from)
          .map(({ msg }) => msg)
          .join('\n'),
      ).toMatch(message),
    SLOW_MACHINE,
  );

const upload = ({ stack }: World): Promise<Response> => {
  const body = new FormData();
  body.append('content', new Blob(['RIFF']), `${SENT.fileName}.wav`);
  return fetch(`${stack.url}/v1/files`, {
    method: 'POST',
    headers: { authorization: `Bearer ${stack.key}` },
    body,
  });
};

/** Every kind of request that hands a value of the caller to Redis; returns the statuses. */
async function askEverything(world: World): Promise<number[]> {
  const { stack } = world;
  const answers = await Promise.all([
    post(world),
    upload(world),
    stack.ask('POST', '/v1/images/generations', { prompt: SENT.prompt, model: 'tiny' }),
    stack.ask('POST', '/v1/keys', { tenant: 'acme', name: SENT.metadata }),
    stack.ask('POST', '/v1/webhooks/secret/rotate'),
    stack.ask('GET', '/v1/jobs', undefined, { authorization: `Bearer ${world.given[1]}` }),
  ]);
  return answers.map(({ status }) => status);
}

const isReady = ({ stack }: World): Promise<void> =>
  vi.waitFor(async () => expect((await stack.ask('GET', '/readyz')).status).toBe(200), SLOW_MACHINE);

/** Takes the secrets that Lehr gives out. */
async function collectSecrets({ stack, given }: World): Promise<void> {
  const key = (await (await stack.ask('POST', '/v1/keys', { tenant: 'acme' })).json()) as { key: string };
  const secret = (await (await stack.ask('POST', '/v1/webhooks/secret')).json()) as { key: string };
  given.push(key.key, secret.key);
}

async function sendBrokenBodies(world: World): Promise<void> {
  const { url } = world.stack;
  const send = (path: string, body: string, type: string, key = world.stack.key): Promise<Response> =>
    fetch(`${url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': type },
      body,
    });
  const broken = `{"input":{"prompt":"${SENT.prompt}", ${SENT.prompt}}}`;
  const answers = await Promise.all([
    send('/v1/jobs', broken, 'application/json'),
    send('/v1/jobs', JSON.stringify({ [SENT.prompt]: SENT.prompt }), 'application/json'),
    send('/v1/jobs', SENT.prompt, 'text/plain'),
    send(
      '/v1/files',
      `--x\r\ncontent-disposition: form-data; name="${SENT.fileName}`,
      'multipart/form-data; boundary=x',
    ),
    send('/v1/jobs', broken, 'application/json', SENT.wrongKey),
    send('/t2i', broken, 'application/json'),
  ]);
  for (const { status } of answers) expect(status).toBeGreaterThanOrEqual(400);
}

/** Redis refuses writes in several ways while a job runs and callers ask; `refuse` makes it, `accept` ends it. */
async function inOutage(
  world: World,
  refuse: () => Promise<unknown>,
  accept: () => Promise<unknown>,
): Promise<void> {
  const { worker, stack } = world;
  // The API keeps its reading of Redis's memory for a moment, so it may refuse jobs shortly after the outage before this one.
  const running = await vi.waitFor(() => posted(world, LONG), SLOW_MACHINE);
  await hasStarted(world, running);
  const from = worker.lines.length;
  await refuse();
  expect(await askEverything(world)).toContain(503);
  expect((await stack.ask('POST', `/v1/jobs/${running}/cancel`)).status).toBe(503);
  await warned(worker, /could not be (?:renewed|claimed|written)/, from);
  await accept();
  await isReady(world);
  await stack.ask('POST', `/v1/jobs/${running}/cancel`);
  await stack.over(running);
}

async function killEngine({ worker }: World): Promise<void> {
  const children = await readFile(`/proc/${worker.pid}/task/${worker.pid}/children`, 'utf8');
  for (const pid of children.trim().split(' ')) {
    if ((await readFile(`/proc/${pid}/cmdline`, 'utf8')).includes('engine/process'))
      process.kill(Number(pid), 'SIGKILL');
  }
  await worker.logged('engine died');
}

test('No log line of any process has a prompt, a key, a webhook secret or URL, or a file name, whatever fails', {
  tags: ['long'],
}, async () => {
  const world = await startWorld();
  const { stack, redis, server, receiver, worker, home } = world;
  await collectSecrets(world);

  // Receivers that answer badly, and bodies that cannot be read.
  receiver.answer(500, 'cut', { status: 429, headers: { 'retry-after': '1' } }, 410);
  await stack.over(await posted(world));
  await receiver.until(1);
  await sendBrokenBodies(world);

  // A job that expires in the queue, behind one that crashes with the engine.
  const long = await posted(world, LONG);
  await hasStarted(world, long);
  const late = await posted(world, { width: 128 }, { deadline_s: 1 });
  await killEngine(world);
  expect(['expired', 'succeeded']).toContain((await stack.over(late)).status);
  await stack.ask('POST', `/v1/jobs/${long}/cancel`);
  await stack.over(long);

  // A store that refuses.
  await rename(join(home, 'objects'), join(home, 'moved'));
  await writeFile(join(home, 'objects'), '');
  const unstored = await posted(world);
  await upload(world);
  await worker.logged('output could not be stored; retrying');
  await rename(join(home, 'objects'), join(home, 'file'));
  await rename(join(home, 'moved'), join(home, 'objects'));
  await stack.over(unstored);

  // Redis is full, is a replica, and is gone.
  await inOutage(
    world,
    () => redis.config('SET', 'maxmemory', '1'),
    () => redis.config('SET', 'maxmemory', '0'),
  );
  await inOutage(
    world,
    () => redis.replicaof('127.0.0.1', 1),
    () => redis.replicaof('NO', 'ONE'),
  );
  await inOutage(
    world,
    () => server.kill(),
    () => server.restart(),
  );

  // A value of another kind than Lehr expects, and a record that cannot be read.
  const prefix = `{${stack.namespace}}`;
  const readable = await posted(world);
  await stack.over(readable);
  await redis.hset(`${prefix}:record:${readable}`, 'input', SENT.prompt);
  await stack.ask('GET', `/v1/jobs/${readable}`);
  await redis.set(`${prefix}:keys`, 'not a sorted set');
  expect((await stack.ask('POST', '/v1/keys', { tenant: 'acme', name: SENT.metadata })).status).toBe(500);
  await stack.api.logged('a request failed with an internal error');

  await worker.stop();
  await stack.api.stop();
  const lines = [...stack.api.lines, ...worker.lines].map((line) => JSON.stringify(line));
  expect(lines.length).toBeGreaterThan(30);
  const errors = lines.filter((line) => line.includes('"stack":'));
  expect(errors.length).toBeGreaterThan(10);
  for (const secret of [...Object.values(SENT), ...world.given]) {
    expect(lines.filter((line) => line.includes(secret))).toEqual([]);
  }
});

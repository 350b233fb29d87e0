/** What tenants and classes may take from each other on one worker, with the demo models and real processes. */
import { appendFile, readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import type { Job } from '../../packages/shared/src/index.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { SAMPLES } from '../support/speech-files.ts';
import { type Stack, startStack } from '../support/stack.ts';
import { tinyModels } from '../support/tiny-models.ts';

let redis: TestRedis;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

const DEMO = new URL('../../packages/demo-models/models/', import.meta.url);

async function stackWith(models: string): Promise<Stack> {
  const stack = await startStack(redis, { LEHR_MODELS: models, LEHR_EGRESS_ALLOW: '*' });
  await stack.worker();
  return stack;
}

/** The demo models, with a tiny one that begins at pictures in the place of theirs. */
async function modelsForPictures(): Promise<string> {
  const file = await tinyModels({ vaeEncoder: true });
  const pathOf = (name: string) => relative(dirname(file), fileURLToPath(new URL(name, DEMO)));
  const entry = (name: string, rest: string) =>
    `  - { name: ${name}, default: true, versions: [{ version: "1", path: ${pathOf(name)} }], ${rest} }\n`;
  await appendFile(file, entry('demo-whisper', 'task: whisper'));
  await appendFile(file, entry('demo-text', 'task: text, tasks: [text-embedding]'));
  return file;
}

const SIZES = [
  [512, 512],
  [448, 512],
  [512, 448],
  [448, 448],
] as const;
const SMALL = { width: 64, height: 64, steps: 4 };

async function postJob(stack: Stack, body: object): Promise<Job> {
  const response = await stack.ask('POST', '/v1/jobs', body);
  expect(response.status).toBe(202);
  return (await response.json()) as Job;
}

const jobOf = async (stack: Stack, id: string): Promise<Job> =>
  (await (await stack.ask('GET', `/v1/jobs/${id}`)).json()) as Job;

const statesOf = (stack: Stack, jobs: readonly Job[]): Promise<string[]> =>
  Promise.all(jobs.map(async ({ id }) => (await jobOf(stack, id)).status));

const LIMIT_MS = 300_000;

/** Resolves when all of these jobs run. */
const allRun = (stack: Stack, jobs: readonly Job[]) =>
  expect.poll(() => statesOf(stack, jobs), { timeout: LIMIT_MS }).toEqual(jobs.map(() => 'running'));

/** An interactive picture, a recording and a text, after their ends. */
async function othersDone(stack: Stack): Promise<Job[]> {
  const audio = await stack.upload('a.wav', await readFile(new URL('en_circle.wav', SAMPLES)));
  const others = [
    await stack.post({ ...SMALL }, { priority: 'interactive' }),
    await postJob(stack, { type: 'speech-to-text', input: { audio } }),
    await postJob(stack, { type: 'text-embedding', input: { texts: ['a red circle'] } }),
  ];
  const ended = await Promise.all(others.map(({ id }) => stack.over(id)));
  expect(ended.map(({ status }) => status)).toEqual(['succeeded', 'succeeded', 'succeeded']);
  return ended;
}

test('Four bulk pictures of four sizes pause while an interactive picture, a recording and a text run, and then continue', {
  tags: ['long'],
}, async () => {
  const stack = await stackWith(await modelsForPictures());
  const bulk: Job[] = [];
  for (const [width, height] of SIZES) {
    bulk.push(await stack.post({ width, height, steps: 100 }, { priority: 'bulk' }));
  }
  await allRun(stack, bulk);
  await othersDone(stack);
  expect(await statesOf(stack, bulk)).toEqual(bulk.map(() => 'running'));
  // The device works on them again.
  const stepOf = async (): Promise<number> => (await jobOf(stack, bulk[3].id)).progress?.step ?? 0;
  const before = await stepOf();
  await expect.poll(stepOf, { timeout: LIMIT_MS }).toBeGreaterThan(before);
  for (const { id } of bulk) await stack.ask('POST', `/v1/jobs/${id}/cancel`);
  for (const { id } of bulk) expect((await stack.over(id)).status).toBe('canceled');
});

test('Jobs whose pictures arrive slowly take no place of others, and can be canceled meanwhile', {
  tags: ['long'],
}, async () => {
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'image/png' });
    const drip = setInterval(() => response.write(Buffer.alloc(16_384)), 250);
    response.once('close', () => clearInterval(drip));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const image = `http://127.0.0.1:${(server.address() as AddressInfo).port}/a.png`;
  const stack = await stackWith(await modelsForPictures());
  const slow: Job[] = [];
  for (const [width, height] of SIZES)
    slow.push(await stack.post({ width, height, steps: 2, strength: 1, image }));
  const others = await othersDone(stack);
  for (const { id } of slow) await stack.ask('POST', `/v1/jobs/${id}/cancel`);
  const ends = await Promise.all(slow.map(async ({ id }) => (await stack.over(id)).finished_at ?? ''));
  // None of the slow ones had ended when the last of the others started.
  const lastStart = Math.max(...others.map(({ started_at }) => Date.parse(started_at ?? '')));
  expect(lastStart).toBeLessThan(Math.min(...ends.map((at) => Date.parse(at))));
});

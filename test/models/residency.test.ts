/** A worker with a memory budget for one of its models. */
import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { writeTinyDiffusion } from '../../packages/demo-models/src/index.ts';
import type { Job, QueueList } from '../../packages/shared/src/index.ts';
import type { LehrProcess } from '../support/lehr-process.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { type Stack, startStack } from '../support/stack.ts';
import { addCheckedModel, addTransformModels, tinyModels } from '../support/tiny-models.ts';

let redis: TestRedis;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

const PATIENT = { timeout: 60_000 };
/** Less than the files of two tiny models, so that one is open at a time. */
const FOR_ONE = { LEHR_MODEL_MEMORY_MB: '0.5' };

const entry = (name: string): string => `  - name: ${name}
    task: diffusion
    default: ${name === 'tiny'}
    versions: [{ version: "1", path: ${name} }]
    defaults: { width: 64, height: 64, steps: 2, guidance: 5, sampler: ddim }
    limits: { max_steps: 1000 }
`;

interface World extends Stack {
  readonly folder: string;
  readonly draw: (model: string, input?: object) => Promise<Job>;
  /** Of the models, as `GET /v1/queues` shows them. */
  readonly listed: () => Promise<Record<string, QueueList['models'][number]>>;
}

async function world(): Promise<World> {
  const file = await tinyModels();
  const folder = dirname(file);
  await writeTinyDiffusion(join(folder, 'second'), { seed: 6, timestepType: 'float32' });
  await writeFile(file, `models:\n${entry('tiny')}${entry('second')}`);
  const stack = await startStack(redis, { LEHR_MODELS: file });
  return {
    ...stack,
    folder,
    draw: (model, input = {}) => stack.post({ steps: 2, ...input }, { model }),
    listed: async () => {
      const { models } = (await (await stack.ask('GET', '/v1/queues')).json()) as QueueList;
      return Object.fromEntries(models.map((each) => [each.model, each]));
    },
  };
}

async function enginePid({ pid }: LehrProcess): Promise<number> {
  const children = (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).trim().split(' ');
  for (const child of children) {
    if (/engine/.test(await readFile(`/proc/${child}/cmdline`, 'utf8'))) return Number(child);
  }
  throw new Error(`worker ${pid} has no engine`);
}

const count = ({ lines }: LehrProcess, message: string): number =>
  lines.filter(({ msg }) => msg === message).length;

test('With memory for one model, the jobs of two end, and each model is loaded when the other has no jobs', {
  timeout: 240_000,
}, async () => {
  const { draw, over, worker, listed } = await world();
  const first = await draw('second');
  const lehr = await worker(FOR_ONE);
  // The one with a waiting job is loaded first, though it is the second of models.yaml.
  expect(await lehr.logged('model is being loaded')).toMatchObject({ model: 'second@1' });
  expect((await over(first.id)).status).toBe('succeeded');
  const ids: string[] = [];
  for (const model of ['tiny', 'second', 'tiny', 'tiny', 'second']) ids.push((await draw(model)).id);
  for (const id of ids) expect((await over(id)).status).toBe('succeeded');
  await lehr.logged('model closed');
  // Each load follows the unloading of the other model.
  expect(count(lehr, 'model opened')).toBe(count(lehr, 'model closed') + 1);
  expect(count(lehr, 'model opened')).toBeLessThanOrEqual(6);
  await expect
    .poll(async () => Object.values(await listed()).map(({ problem }) => problem))
    .toEqual([null, null]);
});

test('A model with a job in hand is not closed before that has ended, and its waiting jobs run later', {
  tags: ['long'],
}, async () => {
  const { draw, over, worker } = await world();
  const long = await draw('tiny', { steps: 600, n: 8 });
  const lehr = await worker(FOR_ONE);
  await lehr.logged('job started');
  const other = await draw('second');
  const waiting = await draw('tiny');
  expect((await over(other.id)).status).toBe('succeeded');
  const ended = await over(long.id);
  expect(ended.error).toBeNull();
  expect(ended).toMatchObject({ status: 'succeeded', attempt: 1 });
  expect((await over(waiting.id)).status).toBe('succeeded');
});

test('With a budget, what checks the pictures of a model is loaded with it, and its jobs run when both are open', {
  tags: ['long'],
}, async () => {
  const file = await tinyModels();
  await addTransformModels(file);
  await addCheckedModel(file, { mode: 'mark' });
  const stack = await startStack(redis, { LEHR_MODELS: file, LEHR_TASKS: 'diffusion' });
  const { id } = await stack.post({ steps: 2 }, { model: 'checked' });
  await stack.worker({ LEHR_MODEL_MEMORY_MB: '600' });
  expect(await stack.over(id)).toMatchObject({
    status: 'succeeded',
    output: { images: [{ safety: { flagged: true } }] },
  });
  // It is open for the other model only.
  const { data } = (await (await stack.ask('GET', '/v1/queues')).json()) as QueueList;
  expect(data.map(({ name }) => name)).toEqual(['diffusion.checked@1.64x64']);
});

test('A model that cannot be opened does not keep the other from serving, and is loaded when its folder is complete', {
  tags: ['long'],
}, async () => {
  const { draw, over, worker, folder, listed } = await world();
  await rm(join(folder, 'second', 'unet'), { recursive: true });
  const broken = await draw('second');
  const lehr = await worker(FOR_ONE);
  await lehr.logged('model cannot be opened; the worker serves without it');
  expect((await over((await draw('tiny')).id)).status).toBe('succeeded');
  await expect.poll(async () => (await listed())['second@1'].problem, PATIENT).toContain('unet');
  await writeTinyDiffusion(join(folder, 'second'), { seed: 6, timestepType: 'float32' });
  expect((await over(broken.id)).status).toBe('succeeded');
});

test('A worker whose only open model cannot be opened after a crash of the engine serves the other one', {
  tags: ['long'],
}, async () => {
  const { draw, over, worker, folder } = await world();
  const first = await draw('tiny');
  const lehr = await worker(FOR_ONE);
  expect((await over(first.id)).status).toBe('succeeded');
  await rm(join(folder, 'tiny', 'unet'), { recursive: true });
  process.kill(await enginePid(lehr), 'SIGKILL');
  await lehr.logged('engine restarted');
  expect((await over((await draw('second')).id)).status).toBe('succeeded');
});

test('A worker that is killed while it loads a model loses nothing', { tags: ['long'] }, async () => {
  const { draw, over, worker } = await world();
  const first = await worker(FOR_ONE);
  const ids = [(await draw('tiny')).id, (await draw('second')).id];
  await first.line(({ msg, model }) => msg === 'model is being loaded' && model === 'second@1');
  first.signal('SIGKILL');
  ids.push((await draw('tiny')).id);
  await worker(FOR_ONE);
  for (const id of ids) expect((await over(id)).status).toBe('succeeded');
});

test('Unloading a model gives its memory back', { tags: ['long'] }, async () => {
  const { draw, over, worker, folder } = await world();
  const demo = fileURLToPath(new URL('../../packages/demo-models/models/demo-diffusion', import.meta.url));
  for (const name of ['tiny', 'second']) {
    await rm(join(folder, name), { recursive: true });
    await cp(demo, join(folder, name), { recursive: true });
  }
  const lehr = await worker({ LEHR_MODEL_MEMORY_MB: '20', LEHR_ROW_CAP: '2' });
  for (const model of ['second', 'tiny', 'second', 'tiny']) {
    expect((await over((await draw(model)).id)).status).toBe('succeeded');
  }
  const bytes = (message: string, field: string): number[] =>
    lehr.lines.filter(({ msg }) => msg === message).map((line) => Number(line[field]));
  const [first, ...grown] = bytes('model opened', 'grownBytes');
  const freed = bytes('model closed', 'freedBytes');
  expect(first).toBeGreaterThan(15e6);
  // The files of the model have 15 MB. Half of that is far more than what the sizes of processes vary by.
  // Each of the last three jobs needed the memory of the other model.
  expect(freed.length).toBeGreaterThanOrEqual(3);
  for (const each of freed) expect(each, `${freed} after ${first}, ${grown}`).toBeGreaterThan(7.5e6);
});

/** models.yaml changes while API and worker run. */
import { rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { writeTinyDiffusion } from '../../packages/demo-models/src/index.ts';
import type { Job } from '../../packages/shared/src/index.ts';
import { startHub } from '../support/hub-server.ts';
import type { LehrProcess } from '../support/lehr-process.ts';
import { tinyModelFiles } from '../support/model-folders.ts';
import { freePort } from '../support/ports.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { type Stack, startStack } from '../support/stack.ts';
import { tinyModels } from '../support/tiny-models.ts';

let redis: TestRedis;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

const WHOLE = { timeout: 240_000 };
const PATIENT = { timeout: 60_000 };
const CHANGED = 'models.yaml has changed';
const WRITTEN =
  'a file of an open model was written in place; the model gets no more jobs and is opened again when its jobs have ended';
const PART_CHANGED =
  'an adapter of an open model has changed; the model gets no more jobs and is opened again when its jobs have ended';
const REFUSED = 'models.yaml has changed and cannot be used; the earlier models stay';

const entry = (name: string, version = 'path: tiny', steps = 2): string => `  - name: ${name}
    task: diffusion
    default: ${name === 'tiny'}
    versions: [{ version: "1", ${version} }]
    defaults: { width: 64, height: 64, steps: ${steps}, guidance: 5, sampler: ddim }
    limits: { max_steps: 1000 }
`;

interface World extends Stack {
  readonly worker1: LehrProcess;
  readonly folder: string;
  /** Writes models.yaml in one step, as editors do. */
  write(text: string): Promise<void>;
  /** As `write`; both processes read it at once. */
  reload(...entries: string[]): Promise<void>;
  /** The names that the API offers. */
  offered(): Promise<string[]>;
  /** The models that a live worker has open. */
  opened(): Promise<string[]>;
  workerText(path: string): Promise<string>;
}

async function world(env: Record<string, string> = {}): Promise<World> {
  const file = await tinyModels();
  const write = async (text: string): Promise<void> => {
    await writeFile(`${file}.new`, text);
    await rename(`${file}.new`, file);
  };
  await write(`models:\n${entry('tiny')}`);
  const stack = await startStack(redis, { LEHR_MODELS: file, ...env });
  const port = await freePort();
  const worker1 = await stack.worker({ LEHR_WORKER_PORT: `${port}`, ...env });
  const json = async <Body>(path: string): Promise<Body> =>
    (await (await stack.ask('GET', path)).json()) as Body;
  return {
    ...stack,
    worker1,
    folder: dirname(file),
    write,
    reload: async (...entries) => {
      await write(`models:\n${entries.join('')}`);
      for (const each of [stack.api, worker1]) each.signal('SIGHUP');
    },
    offered: async () => (await json<{ data: { id: string }[] }>('/v1/models')).data.map(({ id }) => id),
    opened: async () => {
      const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
      return [...text.matchAll(/lehr_model_available\{model="([^"]+)",version="1"\} 1/g)].map(
        ([, name]) => name,
      );
    },
    workerText: async (path) => (await fetch(`http://127.0.0.1:${port}${path}`)).text(),
  };
}

/** How often a process has logged this message. */
const count = ({ lines }: LehrProcess, message: string): number =>
  lines.filter(({ msg }) => msg === message).length;

test('A model that is added to models.yaml is offered and opened while API and worker run', {
  timeout: 240_000,
}, async () => {
  const { reload, offered, opened, post, over, worker1 } = await world();
  await reload(entry('tiny'), entry('second'));
  await expect.poll(offered, PATIENT).toEqual(['tiny', 'second']);
  const job = await post({ steps: 2 }, { model: 'second' });
  expect(await over(job.id)).toMatchObject({ status: 'succeeded', model: 'second@1' });
  expect(await opened()).toEqual(['tiny', 'second']);
  expect(count(worker1, 'worker serves')).toBe(1);
});

test('A model that is added with a source is fetched by the running worker', { tags: ['long'] }, async () => {
  const hub = await startHub(await tinyModelFiles());
  const { reload, post, over, worker1 } = await world({ HF_ENDPOINT: hub.endpoint });
  await reload(entry('tiny'), entry('far', 'source: hf://acme/model, revision: v1'));
  expect(await worker1.logged('model fetched')).toMatchObject({ model: 'far@1' });
  const job = await post({ steps: 2 }, { model: 'far' });
  expect((await over(job.id)).status).toBe('succeeded');
});

test('A changed models.yaml is noticed without a signal', { tags: ['long'] }, async () => {
  const { write, offered, opened } = await world();
  await write(`models:\n${entry('tiny')}${entry('second')}`);
  await expect.poll(offered, PATIENT).toEqual(['tiny', 'second']);
  await expect.poll(opened, PATIENT).toEqual(['tiny', 'second']);
});

test('A model that is removed ends its running job, gets no other, and is closed', {
  tags: ['long'],
}, async () => {
  const { reload, offered, opened, post, over, ask, worker1 } = await world();
  await reload(entry('tiny'), entry('second'));
  await expect.poll(opened, PATIENT).toEqual(['tiny', 'second']);
  // Many steps, so that it still runs when the model is removed.
  const running = await post({ steps: 600, n: 8 }, { model: 'second' });
  const current = async () => (await (await ask('GET', `/v1/jobs/${running.id}`)).json()) as Job;
  await expect.poll(async () => (await current()).status, PATIENT).toBe('running');
  await reload(entry('tiny'));
  await expect.poll(offered, PATIENT).toEqual(['tiny']);
  expect(await current()).toMatchObject({ status: 'running' });
  await expect(post({ steps: 2 }, { model: 'second' })).rejects.toThrow('model-not-found');
  expect((await over(running.id)).status).toBe('succeeded');
  await worker1.line(({ msg, model }) => msg === 'model closed' && model === 'second@1');
  expect(await opened()).toEqual(['tiny']);
  expect((await over((await post({ steps: 2 })).id)).status).toBe('succeeded');
});

test('A version whose folder changes in models.yaml is closed and opened from the new folder', {
  tags: ['long'],
}, async () => {
  const { reload, post, over, folder, worker1 } = await world();
  const draw = async (): Promise<string> => {
    const { output } = await over((await post({ steps: 2, seed: 3 })).id);
    const { images } = output as { images: { url: string }[] };
    return Buffer.from(await (await fetch(images[0].url)).arrayBuffer()).toString('base64');
  };
  const first = await draw();
  await writeTinyDiffusion(join(folder, 'other'), { seed: 6, timestepType: 'float32' });
  const opened = () => count(worker1, 'model opened');
  const before = opened();
  await reload(entry('tiny', 'path: other'));
  await expect.poll(opened, PATIENT).toBe(before + 1);
  expect(await draw()).not.toBe(first);
});

test('Adding an adapter to a model opens that model alone again, and so does its file when it appears', {
  tags: ['long'],
}, async () => {
  const { reload, opened, post, over, ask, folder, worker1 } = await world();
  await reload(entry('tiny'), entry('second'));
  await expect.poll(opened, PATIENT).toEqual(['tiny', 'second']);
  const times = (name: string) =>
    worker1.lines.filter(({ msg, model }) => msg === 'model opened' && model === `${name}@1`).length;
  const running = await post({ steps: 600, n: 8 }, { model: 'tiny' });
  const current = async () => (await (await ask('GET', `/v1/jobs/${running.id}`)).json()) as Job;
  await expect.poll(async () => (await current()).status, PATIENT).toBe('running');
  await reload(entry('tiny'), `${entry('second')}    adapters: [{ name: ink, path: ink.safetensors }]\n`);
  await worker1.logged(CHANGED);
  expect(await current()).toMatchObject({ status: 'running' });
  await expect.poll(() => times('second'), PATIENT).toBe(2);
  expect((await over((await post({ steps: 2 }, { model: 'second' })).id)).status).toBe('succeeded');
  await writeFile(join(folder, 'ink.safetensors'), 'no weights');
  expect(await worker1.logged(PART_CHANGED)).toMatchObject({ model: 'second@1' });
  await expect.poll(() => times('second'), PATIENT).toBe(3);
  expect(await over(running.id)).toMatchObject({ status: 'succeeded' });
  expect(times('tiny')).toBe(1);
});

test('A model of which a file is written in place is reported, and opened again with the new file', {
  tags: ['long'],
}, async () => {
  const { post, over, folder, worker1 } = await world();
  const opened = () => count(worker1, 'model opened');
  const before = opened();
  await writeTinyDiffusion(join(folder, 'tiny'), { seed: 6, timestepType: 'float32' });
  expect(await worker1.logged(WRITTEN)).toMatchObject({
    model: 'tiny@1',
    path: expect.stringContaining(join(folder, 'tiny')),
  });
  await expect.poll(opened, PATIENT).toBe(before + 1);
  expect((await over((await post({ steps: 2 })).id)).status).toBe('succeeded');
});

test('A models.yaml that cannot be used is reported, and the earlier models stay', {
  tags: ['long'],
}, async () => {
  const { api, worker1, write, reload, offered, post, over, ask, workerText } = await world();
  await write('models: [ { name: tiny, task: paint } ]\n');
  for (const each of [api, worker1]) each.signal('SIGHUP');
  for (const each of [api, worker1]) {
    expect(await each.logged(REFUSED)).toMatchObject({ problem: expect.stringContaining('models.0.task') });
  }
  expect(await offered()).toEqual(['tiny']);
  expect((await over((await post({ steps: 2 })).id)).status).toBe('succeeded');
  expect(await (await ask('GET', '/readyz')).json()).toMatchObject({
    status: 'ready',
    hint: expect.stringContaining('models.yaml has changed and cannot be used'),
  });
  expect(await workerText('/readyz')).toContain('models.yaml cannot be used');
  const metric = 'lehr_models_file_problem 1';
  expect(await workerText('/metrics')).toContain(metric);
  expect(await (await ask('GET', '/metrics')).text()).toContain(metric);

  await reload(entry('tiny', 'path: tiny', 3));
  for (const each of [api, worker1]) await each.logged(CHANGED);
  expect((await over((await post()).id)).input).toMatchObject({ steps: 3 });
  expect(await workerText('/metrics')).toContain('lehr_models_file_problem 0');
});

test('A models.yaml that has gone for long is reported, and the earlier models stay', WHOLE, async () => {
  const { folder, api, offered } = await world();
  await rm(join(folder, 'models.yaml'));
  api.signal('SIGHUP');
  expect(await api.logged(REFUSED)).toMatchObject({ problem: expect.stringContaining('ENOENT') });
  expect(await offered()).toEqual(['tiny']);
});

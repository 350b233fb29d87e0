/** A worker whose models are named by a source: it fetches them itself. */
import { writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { startHub } from '../support/hub-server.ts';
import { startLehr } from '../support/lehr-process.ts';
import { tinyModelFiles } from '../support/model-folders.ts';
import { freePort } from '../support/ports.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { startStack } from '../support/stack.ts';
import { tempFolder, tinyModels } from '../support/tiny-models.ts';

let redis: TestRedis;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

const UNET = 'unet/model.onnx';
const entry = (name: string, version: string): string => `  - name: ${name}
    task: diffusion
    default: ${name === 'tiny'}
    versions: [{ version: "1", ${version} }]
    defaults: { width: 64, height: 64, steps: 2, guidance: 5, sampler: ddim }
`;
const SOURCE = 'source: hf://acme/model, revision: v1';
const PATIENT = { timeout: 60_000 };

async function models(...entries: string[]): Promise<string> {
  const file = await tinyModels();
  await writeFile(file, `models:\n${entries.join('')}`);
  return file;
}

test('A worker serves the models it has, fetches the others, and serves each when it is there', {
  tags: ['long'],
}, async () => {
  const hub = await startHub(await tinyModelFiles(), { gatedFor: ['hf_member'] });
  const gated = await startHub(await tinyModelFiles(), { gatedFor: [] });
  hub.fail(UNET, { kind: 'cut', after: 1000 });
  const list = await models(entry('tiny', 'path: tiny'), entry('far', SOURCE));
  const stack = await startStack(redis, {
    LEHR_MODELS: list,
    HF_ENDPOINT: gated.endpoint,
    HF_TOKEN: 'hf_member',
  });
  const waiting = await stack.post({ steps: 2 }, { model: 'far' });
  const problem = async () => {
    const { models: listed } = (await (await stack.ask('GET', '/v1/queues')).json()) as {
      models: { model: string; problem: string | null }[];
    };
    return listed.find(({ model }) => model === 'far@1')?.problem;
  };

  const refused = await stack.worker();
  await refused.logged('model cannot be fetched; it is tried again');
  expect((await stack.over((await stack.post({ steps: 2 })).id)).status).toBe('succeeded');
  await expect.poll(problem, PATIENT).toContain('accept its conditions');
  await refused.stop();

  const worker = await stack.worker({ HF_ENDPOINT: hub.endpoint });
  const fetched = await worker.logged('model fetched');
  expect(fetched).toMatchObject({ model: 'far@1', revision: hub.commit });
  expect((await stack.over(waiting.id)).status).toBe('succeeded');
});

test('How long a model took to fetch, open, warm up and answer first is measured, and shown with its memory', {
  tags: ['long'],
}, async () => {
  const hub = await startHub(await tinyModelFiles());
  const list = await models(entry('tiny', SOURCE));
  const stack = await startStack(redis, { LEHR_MODELS: list, HF_ENDPOINT: hub.endpoint });
  const port = await freePort();
  await stack.worker({ HF_ENDPOINT: hub.endpoint, LEHR_WORKER_PORT: `${port}` });
  await stack.over((await stack.post({ steps: 2 })).id);
  await stack.over((await stack.post({ steps: 2 })).id);
  const shown = async () => {
    const { models: listed } = (await (await stack.ask('GET', '/v1/queues')).json()) as {
      models: { load_ms: Record<string, number>; bytes: number | null }[];
    };
    return listed[0];
  };
  await expect
    .poll(async () => Object.keys((await shown()).load_ms).sort())
    .toEqual(['first-answer', 'open', 'pull', 'warm-up']);
  expect((await shown()).bytes).toBeGreaterThan(0);
  const page = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  for (const stage of ['pull', 'open', 'warm-up', 'first-answer']) {
    expect(page).toContain(`lehr_model_load_seconds_count{model="tiny",version="1",stage="${stage}"} 1\n`);
  }
});

test('A worker that was killed while it fetched its only model continues at the next start, and is ready then', {
  tags: ['long'],
}, async () => {
  const hub = await startHub(await tinyModelFiles());
  hub.fail(UNET, { kind: 'stall', after: 1000 });
  const list = await models(entry('tiny', SOURCE));
  const home = await tempFolder('home');
  const stack = await startStack(redis, { LEHR_MODELS: list, HF_ENDPOINT: hub.endpoint, LEHR_HOME: home });
  const port = await freePort();
  const env = {
    LEHR_HOME: home,
    LEHR_REDIS_URL: redis.url,
    LEHR_NAMESPACE: stack.namespace,
    LEHR_MODELS: list,
    LEHR_API_KEY: stack.key,
    LEHR_DEVICE: 'cpu',
    LEHR_ROW_CAP: '16',
    LEHR_WORKER_PORT: `${port}`,
    HF_ENDPOINT: hub.endpoint,
  };
  const asked = hub.asked(UNET);
  const first = startLehr('worker', env);
  await asked;
  const ready = async (): Promise<string> => (await fetch(`http://127.0.0.1:${port}/readyz`)).text();
  await vi.waitFor(async () => expect(await ready()).toMatch(/^tiny@1 is being fetched: \d+ %/), PATIENT);
  first.signal('SIGKILL');
  await first.exited();

  const worker = await stack.worker();
  const job = await stack.post({ steps: 2 });
  expect((await stack.over(job.id)).status).toBe('succeeded');
  await worker.stop();
  expect(await worker.exited()).toBe(0);
});

test('A worker that waits for its only model stops at once on SIGTERM', async () => {
  const hub = await startHub(await tinyModelFiles());
  hub.fail(UNET, { kind: 'stall', after: 0 });
  const asked = hub.asked(UNET);
  const worker = startLehr('worker', {
    LEHR_HOME: await tempFolder('home'),
    LEHR_REDIS_URL: redis.url,
    LEHR_MODELS: await models(entry('tiny', SOURCE)),
    LEHR_API_KEY: 'x'.repeat(30),
    LEHR_WORKER_PORT: '0',
    HF_ENDPOINT: hub.endpoint,
  });
  await asked;
  worker.signal('SIGTERM');
  expect(await worker.exited()).toBe(0);
});

/** A worker with a model that it cannot open. */
import { rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { writeTinyDiffusion } from '../../packages/demo-models/src/index.ts';
import { freePort } from '../support/ports.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { startStack } from '../support/stack.ts';
import { tinyModels } from '../support/tiny-models.ts';

let redis: TestRedis;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

const LIMITS =
  '{ min_size: 64, max_size: 512, size_step: 8, max_pixels: 262144, max_steps: 100, max_samples: 8 }';
const entry = (name: string): string => `  - name: ${name}
    task: diffusion
    default: ${name === 'tiny'}
    versions: [{ version: "1", path: ${name} }]
    defaults: { width: 64, height: 64, steps: 2, guidance: 5, sampler: ddim }
    limits: ${LIMITS}
`;

test('A worker serves its other models when one cannot be opened, and that one as soon as its folder is complete', {
  tags: ['long'],
}, async () => {
  const models = await tinyModels();
  const broken = join(dirname(models), 'broken');
  const options = { seed: 6, timestepType: 'float32' } as const;
  await writeTinyDiffusion(broken, options);
  await rm(join(broken, 'unet'), { recursive: true });
  await writeFile(models, `models:\n${entry('tiny')}${entry('broken')}`);
  const stack = await startStack(redis, { LEHR_MODELS: models });
  const waiting = await stack.post({ steps: 2 }, { model: 'broken' });
  const port = await freePort();
  const worker = await stack.worker({ LEHR_WORKER_PORT: `${port}` });
  const metrics = async (): Promise<string> => (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const states = async () => {
    const { models: listed } = (await (await stack.ask('GET', '/v1/queues')).json()) as {
      models: { model: string; workers: number; problem: string | null }[];
    };
    return Object.fromEntries(listed.map(({ model, workers, problem }) => [model, { workers, problem }]));
  };

  await worker.logged('model cannot be opened; the worker serves without it');
  const served = await stack.post({ steps: 2 });
  expect((await stack.over(served.id)).status).toBe('succeeded');
  expect(await states()).toEqual({
    'tiny@1': { workers: 1, problem: null },
    'broken@1': { workers: 0, problem: expect.stringContaining('unet') },
  });
  expect(await metrics()).toContain('lehr_model_available{model="broken",version="1"} 0\n');
  expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200);
  expect((await stack.ask('GET', `/v1/jobs/${waiting.id}`)).status).toBe(200);

  await writeTinyDiffusion(broken, options);

  expect((await stack.over(waiting.id)).status).toBe('succeeded');
  expect(await metrics()).toContain('lehr_model_available{model="broken",version="1"} 1\n');
  await expect.poll(async () => (await states())['broken@1']).toEqual({ workers: 1, problem: null });
});

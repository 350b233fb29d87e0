import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ModelListSchema } from '../../apps/api/src/dialects/models.ts';
import {
  createMetrics,
  type JobId,
  LehrError,
  METRICS,
  ModelSchema,
  newWorkerId,
  parseRegistry,
  QueueListSchema,
} from '../../packages/shared/src/index.ts';
import { redisNow } from '../../packages/shared/src/redis/index.ts';
import { apiWorld, MODELS, problemOf } from '../support/api-world.ts';
import { keyHolder } from '../support/key-holder.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { within } from '../support/timeouts.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

/** The clocks of Redis and of the test are read at different moments, and in whole ms. */
const CLOCKS_MS = 5;

const LANE = { queue: 'diffusion.tiny@1.64x64', rows: 4, row_cap: 8, samples: 2, row_steps_per_s: 50 };

describe('health', () => {
  test('/healthz needs no key and no Redis', async () => {
    const world = await apiWorld(server.url);
    world.parts.redis.disconnect();
    const response = await world.app.request('/healthz');
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ status: 'ok' });
  });

  test('/readyz is ready without a worker, hints at it, and counts a new worker at once', async () => {
    const world = await apiWorld(server.url);
    expect(await (await world.app.request('/readyz')).json()).toMatchObject({
      status: 'ready',
      workers: 0,
      hint: expect.stringContaining('No worker is alive'),
    });
    await world.worker.report();
    expect(await (await world.app.request('/readyz')).json()).toEqual({ status: 'ready', workers: 1 });
  });

  test('/readyz hints at a worker that cannot decode audio', async () => {
    const world = await apiWorld(server.url);
    await world.worker.report({ audio_problem: 'ffmpeg is missing' });
    const hint = expect.stringContaining('A worker cannot decode audio');
    expect(await (await world.app.request('/readyz')).json()).toEqual({ status: 'ready', workers: 1, hint });
  });

  test('/readyz names a store that takes no write, and does not show the reason', async () => {
    const full = new LehrError('storage-failed', 'the disk /secret/path is full');
    const world = await apiWorld(server.url);
    const store = Object.create(world.parts.store, { check: { value: () => Promise.reject(full) } });
    const broken = await apiWorld(server.url, { store });
    const response = await broken.app.request('/readyz');
    expect(response.status).toBe(503);
    const problem = await problemOf(response);
    expect(problem.errors).toEqual([{ pointer: '/store', detail: 'does not take a write' }]);
    expect(JSON.stringify(problem)).not.toContain('secret');
  });

  test('/readyz does not wait for a store that does not answer', async () => {
    const world = await apiWorld(server.url);
    const store = Object.create(world.parts.store, { check: { value: () => new Promise(() => {}) } });
    const stuck = await apiWorld(server.url, { store });
    const probed = await within(2500, 'the probe', Promise.resolve(stuck.app.request('/readyz')));
    expect(probed.status).toBe(503);
  });
});

describe('queues', () => {
  test('A queue shows its waiting and running jobs, the age of the oldest one, and its workers', async () => {
    const world = await apiWorld(server.url);
    await world.worker.report({ lanes: [LANE] });
    await world.post({}, { priority: 'bulk' });
    await world.post({}, { priority: 'interactive' });
    await world.post({ width: 96 });
    await world.worker.take();
    const before = Date.now();
    const { data } = QueueListSchema.parse(await (await world.ask('GET', '/v1/queues')).json());
    const after = Date.now();
    expect(data).toMatchObject([
      {
        name: 'diffusion.tiny@1.64x64',
        task: 'diffusion',
        model: 'tiny@1',
        waiting: 1,
        running: 1,
        workers: 1,
        lanes: [{ worker: world.worker.id, samples: 2, rows: 4, row_cap: 8, row_steps_per_s: 50 }],
      },
      { name: 'diffusion.tiny@1.96x64', waiting: 1, running: 0, workers: 1, lanes: [] },
    ]);
    // The bulk job was posted first, though the interactive one is ahead of it.
    const [{ created_at }] = (
      (await (await world.ask('GET', '/v1/jobs?status=queued')).json()) as { data: { created_at: string }[] }
    ).data.slice(-1);
    const least = before - Date.parse(created_at);
    expect(data[0].oldest_age_ms).toBeGreaterThanOrEqual(least - CLOCKS_MS);
    expect(data[0].oldest_age_ms).toBeLessThanOrEqual(least + (after - before) + CLOCKS_MS);
  });

  test('A key without the scope admin does not see the host names of workers', async () => {
    const world = await apiWorld(server.url);
    await world.worker.report({ id: newWorkerId('render-7.internal.example'), lanes: [LANE] });
    const reader = await keyHolder(world, 'acme', { scopes: ['read'] });
    await world.post();
    const lanesOf = async (ask: typeof world.ask) =>
      QueueListSchema.parse(await (await ask('GET', '/v1/queues')).json()).data[0].lanes;
    const [shown] = await lanesOf(world.ask);
    expect(shown.worker).toMatch(/^render-7-internal-example-[0-9a-z]{8}$/);
    const [hidden] = await lanesOf(reader.ask);
    expect(hidden).toEqual({ ...shown, worker: shown.worker.replace('render-7-internal-example', 'worker') });
  });

  test('Only an administrator sees why a worker cannot open a model, because the reason names files', async () => {
    const world = await apiWorld(server.url);
    const reason = '/srv/models/tiny/unet/model.onnx could not be loaded';
    await world.worker.report({ unavailable: [{ ref: 'tiny@1', reason }] });
    const reader = await keyHolder(world, 'acme', { scopes: ['read'] });
    const problemFor = async (ask: typeof world.ask) =>
      QueueListSchema.parse(await (await ask('GET', '/v1/queues')).json()).models.find(
        ({ model }) => model === 'tiny@1',
      )?.problem;
    expect(await problemFor(world.ask)).toBe(reason);
    expect(await problemFor(reader.ask)).toBe('A worker cannot open this model.');
  });

  test('The list of queues counts a new worker at once', async () => {
    const world = await apiWorld(server.url);
    await world.post();
    const workers = async () => {
      const { data, models } = QueueListSchema.parse(await (await world.ask('GET', '/v1/queues')).json());
      return [data[0]?.workers, models.find(({ model }) => model === 'tiny@1')?.workers];
    };
    expect(await workers()).toEqual([0, 0]);
    await world.worker.report({ lanes: [LANE] });
    expect(await workers()).toEqual([1, 1]);
  });

  test('A draining worker serves no queue', async () => {
    const world = await apiWorld(server.url);
    await world.worker.report({ draining: true });
    expect((await world.post()).queue).toEqual({ position: 1, eta_ms: null });
  });
});

describe('models', () => {
  test('The list of models has the fields of both dialects and the limits of each model', async () => {
    const world = await apiWorld(server.url);
    const list = ModelListSchema.strict().parse(await (await world.ask('GET', '/v1/models')).json());
    expect(list.results.map(({ name }) => name)).toEqual(['tiny', 'split']);
    expect(list.data[0]).toEqual({
      id: 'tiny',
      object: 'model',
      created: 1_790_000_000,
      owned_by: 'lehr',
      aliases: [],
      task: 'text-to-image',
      family: 'sd',
      default: true,
      versions: [{ version: '1', weight: 1 }],
      defaults: {
        width: 64,
        height: 64,
        steps: 8,
        guidance: 4,
        sampler: 'euler',
        prompt_syntax: 'plain',
        clip_skip: 1,
      },
      limits: {
        min_size: 16,
        max_size: 128,
        size_step: 8,
        max_pixels: 12288,
        max_steps: 50,
        max_samples: 4,
        max_work: 1_228_800,
      },
      samplers: ['ddim', 'euler', 'dpmpp_2m'],
      adapters: [],
      controls: [],
    });
    const one = ModelSchema.parse(await (await world.ask('GET', '/v1/models/tiny')).json());
    expect(one).toEqual(list.data[0]);
  });

  test('An alias works in the native routes and in those of Replicate, and the list shows it', async () => {
    const registry = parseRegistry(MODELS.replace('name: tiny', 'name: tiny\n    aliases: [dall-e-3]'));
    const { ask, post } = await apiWorld(server.url, { registry });
    expect((await post({}, { model: 'dall-e-3' })).model).toBe('tiny@1');
    const model = ModelSchema.parse(await (await ask('GET', '/v1/models/dall-e-3')).json());
    expect(model).toMatchObject({ id: 'tiny', aliases: ['dall-e-3'] });
    const prediction = { input: { prompt: 'a red circle' } };
    expect(
      await (await ask('POST', '/v1/models/lehr/dall-e-3/predictions', prediction)).json(),
    ).toMatchObject({
      model: 'lehr/tiny',
    });
    expect((await ask('GET', '/v1/models/lehr/dall-e-3')).status).toBe(200);
  });

  test('A model says how many tokens of a prompt it reads once a worker reports it, by the version that reads least', async () => {
    const world = await apiWorld(server.url);
    const open = (version: string, tokens?: number) => ({
      ref: `split@${version}`,
      batching: 'step' as const,
      providers: {},
      ...(tokens !== undefined && { max_prompt_tokens: tokens }),
    });
    const limits = async () => {
      const one = ModelSchema.parse(await (await world.ask('GET', '/v1/models/split')).json());
      const list = ModelListSchema.parse(await (await world.ask('GET', '/v1/models')).json());
      expect(list.data.find(({ id }) => id === 'split')).toEqual(one);
      return one.limits;
    };
    await world.worker.report({ models: [open('a')] });
    expect(await limits()).not.toHaveProperty('max_prompt_tokens');
    await world.worker.report({ models: [open('a', 77), open('b', 64)] });
    await expect.poll(limits).toMatchObject({ max_prompt_tokens: 64 });
  });

  test.each(['sd-9', '..%2F..%2Fetc%2Fpasswd', '%00', '__proto__'])(
    'A model named %s is answered 404',
    async (id) => {
      const world = await apiWorld(server.url);
      const response = await world.ask('GET', `/v1/models/${id}`);
      expect(response.status).toBe(404);
      expect(await problemOf(response)).toMatchObject({ type: 'urn:lehr:problem:model-not-found' });
    },
  );
});

describe('metrics', () => {
  test('Metrics show waiting and running jobs by model version, and every configured version', async () => {
    const world = await apiWorld(server.url);
    await world.worker.report();
    await world.post();
    const { id } = await world.post({ width: 96 });
    await world.worker.take();
    const { redis, keys } = world.parts;
    const postedAt = (await redisNow(redis)) - 5000;
    await redis.hset(keys.record(id as JobId), 'created_at', postedAt);
    const page = await (await world.app.request('/metrics')).text();
    expect(page).toContain('lehr_queue_jobs{model="tiny",version="1",state="queued"} 1\n');
    expect(page).toContain('lehr_queue_jobs{model="tiny",version="1",state="running"} 1\n');
    expect(page).toContain('lehr_queue_jobs{model="split",version="b",state="queued"} 0\n');
    const [, ageS] = /lehr_queue_oldest_job_age_seconds\{model="tiny",version="1"\} (\S+)\n/.exec(page) ?? [];
    expect(Number(ageS)).toBeGreaterThanOrEqual(5 - CLOCKS_MS / 1000);
    expect(Number(ageS)).toBeLessThanOrEqual(((await redisNow(redis)) - postedAt) / 1000 + CLOCKS_MS / 1000);
    expect(page).toContain('lehr_workers{model="tiny",version="1",draining="false"} 1\n');
    expect(page).toContain('lehr_jobs_accepted_total{model="tiny",version="1"} 2\n');
    expect(page).toContain('lehr_redis_up 1\n');
    // This Redis has no limit of memory, and 0 would be a share of it.
    expect(page).not.toMatch(/^lehr_redis_memory_ratio /m);
  });

  test('Answers are counted by route, without ids', async () => {
    const world = await apiWorld(server.url);
    const { id } = await world.post();
    await world.get(id);
    await world.ask('POST', '/v1/jobs', '{}');
    await world.ask('GET', '/nowhere/else');
    await world.app.request('/v1/jobs');
    await world.ask('POST', `/v1/jobs/${id}/cancel`);
    const page = await (await world.app.request('/metrics')).text();
    expect(page).toContain('lehr_http_requests_total{method="POST",route="/v1/jobs",status="202"} 1\n');
    expect(page).toContain('lehr_http_requests_total{method="GET",route="/v1/jobs/:id",status="200"} 1\n');
    expect(page).toContain('lehr_http_requests_total{method="POST",route="/v1/jobs",status="422"} 1\n');
    expect(page).toContain('lehr_http_requests_total{method="GET",route="none",status="404"} 1\n');
    expect(page).toContain('lehr_requests_total{model="",version="",outcome="refused"} 1\n');
    expect(page).toContain('lehr_refusals_total{code="invalid-input"} 1\n');
    expect(Number(/^lehr_redis_latency_seconds (\S+)$/m.exec(page)?.[1])).toBeGreaterThan(0);
    expect(page).toContain('lehr_requests_total{model="tiny",version="1",outcome="canceled"} 1\n');
    expect(page).not.toContain(id);
    expect(page).toMatch(/\n$/);
  });

  test('Every metric has a unique name, its unit in the name, and a help text', () => {
    const facts = Object.values(METRICS);
    expect(new Set(facts.map(({ name }) => name)).size).toBe(facts.length);
    for (const { name, kind, help } of facts) {
      expect(name.endsWith('_total'), name).toBe(kind === 'counter');
      expect(help).toMatch(/^[A-Z].*\.$/);
    }
  });

  test.each(['api', 'worker'] as const)('The metrics page of the %s has all its metrics', async (app) => {
    const { metrics, page } = createMetrics(app);
    const text = await page.render();
    const own = Object.entries(METRICS).filter(([, { apps }]) => (apps as readonly string[]).includes(app));
    expect(Object.keys(metrics)).toEqual(own.map(([key]) => key));
    for (const [, { name, help }] of own) expect(text).toContain(`# HELP ${name} ${help}\n`);
  });
});

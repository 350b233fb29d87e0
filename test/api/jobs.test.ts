import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { JobListSchema, MAX_SEED } from '../../packages/shared/src/index.ts';
import { apiWorld, jobOf, PUBLIC_URL, problemOf } from '../support/api-world.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const circle = { type: 'text-to-image', input: { prompt: 'a red circle' } };

describe('POST /v1/jobs', () => {
  test('A post is answered 202 with the job, its location and a retry time', async () => {
    const world = await apiWorld(server.url);
    const response = await world.ask('POST', '/v1/jobs', { ...circle, metadata: { order: '81' } });
    expect(response.status).toBe(202);
    const job = await jobOf(response);
    expect(response.headers.get('location')).toBe(`/v1/jobs/${job.id}`);
    expect(response.headers.get('retry-after')).toBe('1');
    expect(response.headers.get('etag')).toMatch(/^W\/"1-/);
    expect(job).toMatchObject({
      object: 'job',
      status: 'queued',
      model: 'tiny@1',
      priority: 'standard',
      attempt: 0,
      queue: { position: 1, eta_ms: null },
      metadata: { order: '81' },
      output: null,
      error: null,
      links: {
        self: `${PUBLIC_URL}/v1/jobs/${job.id}`,
        cancel: `${PUBLIC_URL}/v1/jobs/${job.id}/cancel`,
      },
    });
    expect(await world.get(job.id)).toEqual(job);
  });

  test('Metadata with a name that cannot be kept is refused with a pointer to it, and nothing is lost silently', async () => {
    const world = await apiWorld(server.url);
    const body = (name: string) =>
      `{"type":"text-to-image","input":{"prompt":"x"},"metadata":{"${name}":"81"}}`;
    const refused = await world.ask('POST', '/v1/jobs', body('__proto__'));
    expect(refused.status).toBe(422);
    expect((await problemOf(refused)).errors).toEqual([
      { pointer: '/metadata/__proto__', detail: 'cannot be the name of a label' },
    ]);
    const { metadata } = await jobOf(await world.ask('POST', '/v1/jobs', body('constructor')));
    expect(metadata).toEqual({ constructor: '81' });
  });

  test("Absent fields get the model's defaults, and a random seed", async () => {
    const world = await apiWorld(server.url);
    const { input } = await world.post();
    expect(input).toEqual({
      prompt: 'a red circle',
      negative_prompt: '',
      width: 64,
      height: 64,
      steps: 8,
      guidance: 4,
      seed: expect.any(Number),
      sampler: 'euler',
      n: 1,
      output_format: 'png',
      embed_prompt: false,
    });
    expect(input.seed).toBeLessThanOrEqual(MAX_SEED);
    expect((await world.post()).input.seed).not.toBe(input.seed);
    expect((await world.post({ seed: 5 })).input.seed).toBe(5);
  });

  test('A job waits in the queue of its group, in the order of the priority classes', async () => {
    const world = await apiWorld(server.url);
    const bulk = await world.post({ width: 96, height: 64 }, { priority: 'bulk' });
    const urgent = await world.post({ width: 96, height: 64 }, { priority: 'interactive' });
    const claim = await world.worker.take('diffusion.tiny@1.96x64');
    expect(claim.jobId).toBe(urgent.id);
    expect((await world.get(bulk.id)).queue?.position).toBe(1);
  });

  test('Jobs are spread over the versions of a model by weight', async () => {
    const world = await apiWorld(server.url);
    const jobs = await Promise.all(
      Array.from({ length: 200 }, () => world.post({ steps: 1 }, { model: 'split' })),
    );
    const share = jobs.filter(({ model }) => model === 'split@a').length / jobs.length;
    expect(new Set(jobs.map(({ model }) => model))).toEqual(new Set(['split@a', 'split@b']));
    expect(share).toBeGreaterThan(0.6);
    expect((await world.post({}, { model: 'split@b' })).model).toBe('split@b');
  });

  test("The deadline is set by Redis's clock", async () => {
    const world = await apiWorld(server.url);
    const { created_at, deadline_at } = await world.post({}, { deadline_s: 90 });
    const seconds = (Date.parse(deadline_at ?? '') - Date.parse(created_at)) / 1000;
    expect(Math.abs(seconds - 90)).toBeLessThan(1);
  });

  test('Jobs go to an aligned group when one worker batches their model only aligned', async () => {
    const world = await apiWorld(server.url);
    await world.worker.report({ models: [{ ref: 'tiny@1', batching: 'aligned', providers: {} }] });
    const job = await world.post({ steps: 4, guidance: 2.5 });
    expect((await world.worker.take('diffusion.tiny@1.64x64~4~euler~2.5')).jobId).toBe(job.id);
  });
});

describe('held post', () => {
  test.each([
    ['?wait=30', {}],
    ['', { prefer: 'respond-async, wait=30' }],
  ])(
    'A held post is answered 200 as soon as the job is over (%s)',
    async (query, headers: Record<string, string>) => {
      const world = await apiWorld(server.url);
      const answer = world.ask('POST', `/v1/jobs${query}`, circle, { headers });
      await expect.poll(() => world.parts.waits.size).toBe(1);
      await world.worker.succeed(await world.worker.take());
      const response = await answer;
      expect(response.status).toBe(200);
      expect(response.headers.get('preference-applied')).toBe(headers.prefer ? 'wait=30' : null);
      expect(await response.json()).toMatchObject({ status: 'succeeded', attempt: 1 });
    },
  );

  test('A held post is answered 202 when the wait ends, and the job continues', async () => {
    const world = await apiWorld(server.url);
    const response = await world.ask('POST', '/v1/jobs?wait=0.05', circle);
    expect(response.status).toBe(202);
    expect((await world.worker.take()).jobId).toBe((await jobOf(response)).id);
  });

  test('A preference for too long a wait is shortened, and a query for one is refused', async () => {
    const world = await apiWorld(server.url);
    const stop = new AbortController();
    const answer = world.ask('POST', '/v1/jobs', circle, {
      headers: { prefer: 'wait=4000' },
      signal: stop.signal,
    });
    await expect.poll(() => world.parts.waits.size).toBe(1);
    await world.worker.succeed(await world.worker.take());
    expect((await answer).headers.get('preference-applied')).toBe('wait=60');
    const refused = await world.ask('POST', '/v1/jobs?wait=61', circle);
    expect(refused.status).toBe(400);
    expect(await problemOf(refused)).toMatchObject({
      errors: [{ pointer: '?wait', detail: 'must be at most 60' }],
    });
  });
});

describe('states of a job', () => {
  test('A job shows progress while it runs, and links, metrics and times when it has succeeded', async () => {
    const world = await apiWorld(server.url);
    const { id } = await world.post();
    const claim = await world.worker.take();
    await world.worker.progress(claim, 3);
    expect(await world.get(id)).toMatchObject({
      status: 'running',
      attempt: 1,
      queue: null,
      started_at: expect.any(String),
      finished_at: null,
      progress: { fraction: 0.375, stage: 'denoise', step: 3, steps: 8 },
    });
    await world.worker.succeed(claim, Buffer.from('pixels'));
    const job = await world.get(id);
    expect(job).toMatchObject({
      status: 'succeeded',
      progress: null,
      metrics: { total_ms: 7, worker: world.worker.id },
    });
    const [image] = job.output?.images ?? [];
    expect(image).not.toHaveProperty('key');
    expect(image.url).toMatch(/^https:\/\/lehr\.test\/objects\/out\/default\/job_/);
    expect(Date.parse(image.expires_at) - Date.now()).toBeGreaterThan(800_000);
    const picture = await world.app.request(image.url);
    expect(await picture.text()).toBe('pixels');
  });

  test('A failed job shows its error and whether a retry may succeed', async () => {
    const world = await apiWorld(server.url);
    const { id } = await world.post();
    await world.worker.fail(await world.worker.take());
    expect(await world.get(id)).toMatchObject({
      status: 'failed',
      error: { code: 'numeric-error', retryable: false },
    });
  });

  test('The field problems that a worker stored with an error stay in the record', async () => {
    const world = await apiWorld(server.url);
    const { id } = await world.post();
    const { jobId, token } = await world.worker.take();
    const problems = [{ pointer: '/input/steps', detail: 'must be at most 50' }];
    const error = {
      code: 'invalid-input',
      title: 'Invalid input',
      detail: 'Too many steps.',
      retryable: false,
    };
    await world.parts.records.apply([
      { move: 'fail', id: jobId, lease: token, fields: { error: { ...error, problems } } },
    ]);
    expect(await world.parts.records.read(jobId)).toMatchObject({ error: { problems } });
    expect((await world.get(id)).error).toEqual(error);
  });
});

describe('list of jobs', () => {
  test('The job list has the newest job first, and its pages do not shift when jobs are added', async () => {
    const world = await apiWorld(server.url);
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) ids.push((await world.post()).id);
    const first = await world.ask('GET', '/v1/jobs?limit=2');
    const page = JobListSchema.parse(await first.json());
    expect(page.data.map(({ id }) => id)).toEqual([ids[4], ids[3]]);
    expect(page.has_more).toBe(true);
    await world.post();

    const next = /<(.*)>; rel="next"/.exec(first.headers.get('link') ?? '')?.[1] ?? '';
    expect(next).toMatch(/^https:\/\/lehr\.test\/v1\/jobs\?limit=2&cursor=/);
    const second = JobListSchema.parse(await (await world.ask('GET', next)).json());
    expect(second.data.map(({ id }) => id)).toEqual([ids[2], ids[1]]);
    const last = await world.ask('GET', `/v1/jobs?limit=2&cursor=${second.next_cursor}`);
    expect(await last.json()).toMatchObject({ data: [{ id: ids[0] }], next_cursor: null, has_more: false });
    expect(last.headers.get('link')).toBeNull();
  });

  test('The job list has only jobs that match its filters', async () => {
    const world = await apiWorld(server.url);
    const done = await world.post();
    await world.worker.succeed(await world.worker.take());
    const split = await world.post({}, { model: 'split@a' });
    const idsOf = async (query: string): Promise<string[]> => {
      const list = JobListSchema.parse(await (await world.ask('GET', `/v1/jobs?${query}`)).json());
      return list.data.map(({ id }) => id);
    };
    expect(await idsOf('status=succeeded')).toEqual([done.id]);
    expect(await idsOf('model=split')).toEqual([split.id]);
    expect(await idsOf('model=tiny@1&type=text-to-image')).toEqual([done.id]);
    expect(await idsOf('status=failed')).toEqual([]);
  });

  test.each([
    ['limit=', '?limit'],
    ['limit=0', '?limit'],
    ['limit=101', '?limit'],
    ['status=done', '?status'],
    ['cursor=abc', '?cursor'],
    ['state=queued', '?state'],
  ])('A job list with %s is refused with a pointer to the parameter', async (query, pointer) => {
    const world = await apiWorld(server.url);
    const response = await world.ask('GET', `/v1/jobs?${query}`);
    expect(response.status).toBe(400);
    expect((await problemOf(response)).errors?.map((error) => error.pointer)).toEqual([pointer]);
  });
});

describe('cancel', () => {
  test('A cancelled job is removed from its queue at once', async () => {
    const world = await apiWorld(server.url);
    const { id } = await world.post();
    const response = await world.ask('POST', `/v1/jobs/${id}/cancel`);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ id, status: 'canceled' });
    await expect(world.worker.take()).rejects.toThrow('nothing waits');
  });

  test('A cancel of a running job is answered 202 until its worker has stopped it', async () => {
    const world = await apiWorld(server.url);
    const { id } = await world.post();
    const claim = await world.worker.take();
    const requested = await world.ask('POST', `/v1/jobs/${id}/cancel`);
    expect(requested.status).toBe(202);
    expect(await requested.json()).toMatchObject({ status: 'running' });
    await world.worker.obeyCancel(claim);
    const over = await world.ask('POST', `/v1/jobs/${id}/cancel`, undefined, {
      headers: { 'content-type': 'application/json' },
    });
    expect(over.status).toBe(200);
    expect(await over.json()).toMatchObject({ status: 'canceled' });
  });

  test('A cancel does not change a job that is over', async () => {
    const world = await apiWorld(server.url);
    const { id } = await world.post();
    await world.worker.succeed(await world.worker.take());
    const before = await world.get(id);
    const response = await world.ask('POST', `/v1/jobs/${id}/cancel`);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ status: 'succeeded', finished_at: before.finished_at });
  });
});

describe('delete', () => {
  test('A deleted job is removed with its outputs', async () => {
    const world = await apiWorld(server.url);
    const { id } = await world.post();
    await world.worker.succeed(await world.worker.take());
    const url = (await world.get(id)).output?.images?.[0].url ?? '';
    expect((await world.ask('DELETE', `/v1/jobs/${id}`)).status).toBe(204);
    expect((await world.ask('GET', `/v1/jobs/${id}`)).status).toBe(404);
    expect(await (await world.ask('GET', '/v1/jobs')).json()).toMatchObject({ data: [] });
    expect((await world.app.request(url)).status).toBe(404);
    expect((await world.ask('DELETE', `/v1/jobs/${id}`)).status).toBe(404);
  });

  test('A delete cancels a job that is not over', async () => {
    const world = await apiWorld(server.url);
    const { id } = await world.post();
    const response = await world.ask('DELETE', `/v1/jobs/${id}`);
    expect(response.status).toBe(202);
    expect(await response.json()).toMatchObject({ id, status: 'canceled' });
    expect((await world.ask('DELETE', `/v1/jobs/${id}`)).status).toBe(204);
  });
});

test('A waiting job shows its position and its estimated time while workers serve its group', async () => {
  const world = await apiWorld(server.url);
  const lane = { queue: 'diffusion.tiny@1.64x64', rows: 0, row_cap: 8, samples: 0, row_steps_per_s: 100 };
  await world.worker.report({ lanes: [lane] });
  // 8 steps with guidance are 16 row-steps: 160 ms at 100 a second.
  const jobs = [await world.post(), await world.post(), await world.post()];
  expect(jobs[0].queue).toEqual({ position: 1, eta_ms: 160 });
  expect(await Promise.all(jobs.map(async ({ id }) => (await world.get(id)).queue))).toEqual([
    { position: 1, eta_ms: 160 },
    { position: 2, eta_ms: 320 },
    { position: 3, eta_ms: 480 },
  ]);
});

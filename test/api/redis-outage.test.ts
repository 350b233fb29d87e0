import { expect, onTestFinished, test } from 'vitest';
import { type ApiWorld, apiWorld, jobOf, problemOf } from '../support/api-world.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { within } from '../support/timeouts.ts';

const ID = 'job_01jd3v9s6w0000000000000000';
const circle = { type: 'text-to-image', input: { prompt: 'a red circle' } };

const NEED_REDIS: readonly [method: string, path: string, body?: object][] = [
  ['POST', '/v1/jobs', circle],
  ['POST', '/v1/jobs?wait=60', circle],
  ['GET', '/v1/jobs'],
  ['GET', `/v1/jobs/${ID}`],
  ['GET', `/v1/jobs/${ID}?wait=60`],
  ['GET', `/v1/jobs/${ID}/events`],
  ['POST', `/v1/jobs/${ID}/cancel`],
  ['DELETE', `/v1/jobs/${ID}`],
  ['GET', '/v1/queues'],
  ['GET', '/v1/activity'],
  ['GET', '/v1/usage'],
  ['GET', '/v1/dead-letters'],
  ['GET', '/v1/traffic'],
  ['GET', '/readyz'],
  ['GET', '/admin/queues/api/queues'],
];
const NEED_NOTHING = ['/healthz', '/metrics', '/v1/models', '/openapi.json', '/docs', '/admin/queues'];

async function ownRedis(): Promise<TestRedis> {
  const server = await startRedis();
  onTestFinished(() => server.stop());
  return server;
}

async function expectRefusals(world: ApiWorld): Promise<void> {
  await Promise.all(
    NEED_REDIS.map(async ([method, path, body]) => {
      const response = await within(2500, path, world.ask(method, path, body));
      expect(response.status, path).toBe(503);
      expect(response.headers.get('content-type')).toBe('application/problem+json');
      expect(Number(response.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
      expect(await problemOf(response)).toMatchObject({ type: 'urn:lehr:problem:unavailable' });
    }),
  );
  const metrics = await (await world.ask('GET', '/metrics')).text();
  expect(metrics).toContain('lehr_refusals_total{code="unavailable"}');
  expect(metrics).not.toContain('lehr_refusals_total{code="internal"}');
  for (const path of NEED_NOTHING) expect((await world.ask('GET', path)).status, path).toBe(200);
}

async function expectService(world: ApiWorld): Promise<void> {
  await expect.poll(async () => (await world.ask('GET', '/readyz')).status, { timeout: 10_000 }).toBe(200);
  const { id } = await world.post();
  const answer = world.ask('GET', `/v1/jobs/${id}?wait=30`);
  await expect.poll(() => world.parts.waits.size).toBe(1);
  // Jobs whose post was answered 503 may be stored: once it runs again, Redis reads what was sent to it.
  for (let claim = await world.worker.take(); ; claim = await world.worker.take()) {
    await world.worker.succeed(claim);
    if (claim.jobId === id) break;
  }
  expect(await jobOf(await answer)).toMatchObject({ status: 'succeeded' });
}

test('Every route that needs Redis is answered 503 while Redis is down, and works again after its restart', async () => {
  const server = await ownRedis();
  const world = await apiWorld(server.url);
  await world.ask('GET', '/admin/queues/api/queues');
  await expectService(world);
  await server.kill();
  await expectRefusals(world);
  await expectRefusals(world);
  expect(await (await world.ask('GET', '/metrics')).text()).toMatch(/^lehr_redis_up 0$/m);
  await server.restart();
  await expectService(world);
});

test('Requests are answered 503 within two and a half seconds when Redis does not reply', async () => {
  const server = await ownRedis();
  const world = await apiWorld(server.url);
  await expectService(world);
  server.freeze();
  await expectRefusals(world);
  server.thaw();
  await expectService(world);
});

test('A request that is held when Redis dies is answered 503 and leaves no wait and no listener', async () => {
  const server = await ownRedis();
  const world = await apiWorld(server.url);
  const { id } = await world.post();
  const answer = world.ask('GET', `/v1/jobs/${id}?wait=60`);
  await expect.poll(() => world.parts.waits.size).toBe(1);
  await server.kill();
  expect((await answer).status).toBe(503);
  expect(world.parts.waits.size).toBe(0);
  expect(world.channels.size).toBe(0);
});

test('New jobs are answered 503 while Redis has no memory left, and stored jobs can be read', async () => {
  const server = await ownRedis();
  const world = await apiWorld(server.url);
  const { id } = await world.post();
  await world.parts.redis.config('SET', 'maxmemory', '1');
  expect((await world.ask('POST', '/v1/jobs', circle)).status).toBe(503);
  expect((await world.ask('GET', `/v1/jobs/${id}`)).status).toBe(200);
  const missing = await problemOf(await world.ask('GET', '/readyz'));
  expect(missing.errors).toEqual([{ pointer: '/redis', detail: 'does not take a write' }]);
  await world.parts.redis.config('SET', 'maxmemory', '0');
  // A reading of the memory is shared for a moment, so a refusal may still come from one before this change.
  await expect.poll(async () => (await world.ask('POST', '/v1/jobs', circle)).status).toBe(202);
});

test('No job is accepted from 80 % of the memory of Redis on, and accepted jobs can run and be cancelled', async () => {
  const server = await ownRedis();
  const world = await apiWorld(server.url);
  const { redis } = world.parts;
  // So much that the jobs of one second, in which the share is read once, are a small part of it.
  await redis.setrange('padding', 100_000_000, 'x');
  // Two: one is cancelled and one runs, also where the very next job is refused.
  const first = await world.post();
  await world.post();
  const used = Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1]);
  await redis.config('SET', 'maxmemory', `${Math.round(used / 0.798)}`);
  const refused = await firstRefusal(world);
  expect(refused.status).toBe(503);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  expect(await problemOf(refused)).toMatchObject({
    type: 'urn:lehr:problem:overloaded',
    detail: expect.stringMatching(/^The queue's memory is full \(8\d % of maxmemory\)\.$/),
  });
  const page = await (await world.ask('GET', '/metrics')).text();
  expect(Number(/^lehr_redis_memory_ratio (\S+)$/m.exec(page)?.[1])).toBeGreaterThanOrEqual(0.8);

  expect((await world.ask('POST', `/v1/jobs/${first.id}/cancel`)).status).toBe(200);
  const claim = await world.worker.take();
  await world.worker.succeed(claim);
  expect(await jobOf(await world.ask('GET', `/v1/jobs/${claim.jobId}`))).toMatchObject({
    status: 'succeeded',
  });

  await redis.del('padding');
  await expect.poll(async () => (await world.ask('POST', '/v1/jobs', circle)).status).toBe(202);
});

/** Posts jobs until one is not accepted. */
async function firstRefusal(world: ApiWorld): Promise<Response> {
  for (let posts = 0; posts < 20_000; posts++) {
    const response = await world.ask('POST', '/v1/jobs', circle);
    if (response.status !== 202) return response;
    await response.body?.cancel();
  }
  throw new Error('20,000 jobs were accepted');
}

test('Jobs are stored and queued after Redis has lost its scripts', async () => {
  const server = await ownRedis();
  const world = await apiWorld(server.url);
  await world.post();
  await world.parts.redis.script('FLUSH');
  const job = await world.post();
  expect(job.queue?.position).toBe(2);
});

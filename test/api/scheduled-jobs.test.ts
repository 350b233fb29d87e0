/** `run_at` and `delay_s` of a job, over HTTP. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { releaseDue } from '../../apps/api/src/jobs/release-due.ts';
import type { Job, JobId, TenantId } from '../../packages/shared/src/index.ts';
import { Releaser } from '../../packages/shared/src/queue/index.ts';
import { redisNow } from '../../packages/shared/src/redis/index.ts';
import { lehrShell } from '../client/lehr-command.ts';
import { servedApi } from '../client/served-api.ts';
import { blocksOf, readText } from '../repo/readme.ts';
import { type ApiWorld, apiWorld, jobOf, problemOf } from '../support/api-world.ts';
import { installation } from '../support/installation.ts';
import { startLehr } from '../support/lehr-process.ts';
import { startRedis, type TestRedis, testRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const PICTURE = { type: 'text-to-image', input: { prompt: 'a red circle' } };

/** Does what every API process does twice a second. */
const release = ({ parts }: ApiWorld): Promise<number> => releaseDue(parts, new Releaser(parts));

/** As if the time of the job had come. */
const makeDue = async ({ parts: { redis, keys } }: ApiWorld, ...ids: string[]): Promise<void> => {
  for (const id of ids) await redis.zadd(keys.scheduledJobs, 'XX', await redisNow(redis), id);
};

test('A job with delay_s is scheduled, is listed as such, and runs after its time', async () => {
  const world = await apiWorld(server.url);
  const job = await world.post({}, { delay_s: 3600, deadline_s: 60 });
  const { id, created_at, run_at = '', deadline_at } = job;
  expect(job).toMatchObject({ status: 'scheduled', queue: null });
  expect(Date.parse(run_at) - Date.parse(created_at)).toBe(3_600_000);
  expect(Date.parse(deadline_at ?? '') - Date.parse(run_at)).toBe(60_000);
  const ids = async (status: string): Promise<string[]> => {
    const page = await world.ask('GET', `/v1/jobs?status=${status}`);
    return ((await page.json()) as { data: Job[] }).data.map((each) => each.id);
  };
  expect(await ids('scheduled')).toEqual([id]);
  expect(await ids('queued')).toEqual([]);
  expect(await (await world.ask('GET', '/metrics')).text()).toContain('lehr_scheduled_jobs 1\n');
  expect(await release(world)).toBe(0);
  expect((await world.ask('POST', `/v1/jobs/${id}/retry`)).status).toBe(409);

  await makeDue(world, id);
  expect(await release(world)).toBe(1);

  expect(await world.get(id)).toMatchObject({ status: 'queued', run_at, queue: { position: 1 } });
  await world.worker.succeed(await world.worker.take());
  expect(await world.get(id)).toMatchObject({ status: 'succeeded', run_at });
  const types = (await world.parts.records.events(id as JobId, 0)).map(({ type }) => type);
  expect(types).toEqual(['job.scheduled', 'job.queued', 'job.started', 'job.succeeded']);
});

test('The commands of docs/schedules.md schedule jobs and list them', async () => {
  const api = await servedApi(server.url);
  const { run } = await lehrShell({ LEHR_URL: api.url, LEHR_API_KEY: api.key });
  const block = (label: string): string =>
    blocksOf(readText('docs/schedules.md')).find((each) => each.label === label)?.text ?? '';
  expect(JSON.parse(await run(block('at')))).toMatchObject({ status: 'scheduled' });
  const said = await run(block('cli'));
  expect(said).toMatch(/^job_\S+ scheduled for 20\S+Z$/m);
  expect(said.match(/^job_\S+ +text-to-image +tiny@1 +scheduled/gm)).toHaveLength(3);
  const { id } = await api.post({}, { delay_s: 60 });
  const replicate = await api.ask('GET', `/v1/predictions/${id.slice('job_'.length)}`);
  expect(await replicate.json()).toMatchObject({ status: 'starting' });
});

test('run_at takes a time with any zone, and a time that has passed is now', async () => {
  const world = await apiWorld(server.url);
  const inTwoHours = new Date(Math.floor(Date.now() / 1000) * 1000 + 7_200_000);
  const tokyo = `${new Date(inTwoHours.getTime() + 9 * 3_600_000).toISOString().slice(0, 19)}+09:00`;
  expect((await world.post({}, { run_at: tokyo })).run_at).toBe(inTwoHours.toISOString());
  const past = await world.post({}, { run_at: '2020-01-01T00:00:00Z', deadline_s: 60 });
  expect(past.status).toBe('scheduled');
  expect(past.run_at).toBe(past.created_at);
  expect(await release(world)).toBe(1);
  expect((await world.get(past.id)).status).toBe('queued');
});

test.each([
  ['run_at more than 30 days ahead', { run_at: '2999-01-01T00:00:00Z' }, '/run_at'],
  ['run_at without a zone', { run_at: '2026-12-24T22:00:00' }, '/run_at'],
  ['delay_s of more than 30 days', { delay_s: 30 * 86_400 + 1 }, '/delay_s'],
  ['both', { run_at: '2026-12-24T22:00:00Z', delay_s: 1 }, '/delay_s'],
])('A job with %s is refused, and the answer names the field', async (_, times, pointer) => {
  const world = await apiWorld(server.url);
  const response = await world.ask('POST', '/v1/jobs', { ...PICTURE, ...times });
  expect(response.status).toBe(422);
  expect((await problemOf(response)).errors).toMatchObject([{ pointer }]);
});

test('A job that brings a recording is refused when the recording would be deleted before it runs', async () => {
  const world = await apiWorld(server.url);
  const image = `data:image/png;base64,${Buffer.from('89504e470d0a1a0a', 'hex').toString('base64')}`;
  const input = { prompt: 'a circle', image };
  const response = await world.ask('POST', '/v1/jobs', { type: 'text-to-image', input, delay_s: 3600 });
  expect(response.status).toBe(422);
});

test('A scheduled job counts among the unfinished jobs of its tenant, and is canceled like a waiting one', async () => {
  const world = await apiWorld(server.url);
  const { parts } = world;
  const limits = { max_jobs: 1 };
  const created = await world.ask('POST', '/v1/keys', {
    tenant: 'acme',
    name: 'a',
    scopes: ['submit', 'read', 'cancel'],
    limits,
  });
  const { key } = (await created.json()) as { key: string };
  const headers = { authorization: `Bearer ${key}` };
  const post = (rest: object) => world.ask('POST', '/v1/jobs', { ...PICTURE, ...rest }, { headers });
  const { id } = await jobOf(await post({ delay_s: 60 }));
  expect((await post({})).status).toBe(429);
  expect((await post({ delay_s: 60 })).status).toBe(429);
  const canceled = await world.ask('POST', `/v1/jobs/${id}/cancel`, undefined, { headers });
  expect(await jobOf(canceled)).toMatchObject({ status: 'canceled' });
  expect(await parts.redis.zcard(parts.keys.scheduledJobs)).toBe(0);
  expect(await parts.redis.zcard(parts.keys.liveOf('acme' as TenantId))).toBe(0);
});

test('A scheduled workflow starts no node before its time', async () => {
  const world = await apiWorld(server.url);
  const nodes = [{ id: 'only', type: 'text-to-image', input: { prompt: 'a circle' } }];
  const job = await jobOf(await world.ask('POST', '/v1/jobs', { type: 'workflow', nodes, delay_s: 60 }));
  expect(job).toMatchObject({ status: 'scheduled', nodes: [{ status: 'waiting' }] });
  await world.parts.workflows.sweep();
  await expect(world.worker.take()).rejects.toThrow('nothing waits');
  await makeDue(world, job.id);
  await release(world);
  expect(await world.get(job.id)).toMatchObject({ status: 'queued', nodes: [{ status: 'queued' }] });
  await world.worker.succeed(await world.worker.take());
  await world.parts.workflows.sweep();
  expect((await world.get(job.id)).status).toBe('succeeded');
});

test('Jobs whose time comes while an API process and Redis are killed enter their queues once, by the process that is left', async () => {
  const own = await startRedis();
  try {
    const env = await installation(own.url, { LEHR_API_KEY: 'lehr_test_key_0123456789' });
    const apis = [startLehr('api', env), startLehr('api', env)];
    const urls = await Promise.all(
      apis.map(async (api) => String((await api.logged('API is listening')).url)),
    );
    const headers = { authorization: `Bearer ${env.LEHR_API_KEY}`, 'content-type': 'application/json' };
    const ids: string[] = [];
    for (let i = 0; i < 4; i++) {
      const body = JSON.stringify({ ...PICTURE, delay_s: 2 });
      const response = await fetch(`${urls[i % 2]}/v1/jobs`, { method: 'POST', headers, body });
      ids.push(((await response.json()) as Job).id);
    }
    apis[0].signal('SIGKILL');
    await own.kill();
    await own.restart();
    const states = async (): Promise<unknown[]> => {
      const page = await fetch(`${urls[1]}/v1/jobs`, { headers });
      if (page.status !== 200) return [];
      return ((await page.json()) as { data: Job[] }).data.map(({ status }) => status);
    };
    await expect.poll(states, { timeout: 30_000 }).toEqual(ids.map(() => 'queued'));
    const redis = testRedis(own.url);
    const queues = await redis.smembers(`{${env.LEHR_NAMESPACE}}:groups`);
    expect(queues).toHaveLength(1);
    expect(await redis.zcard(`{${env.LEHR_NAMESPACE}}:${queues[0]}:prioritized`)).toBe(ids.length);
  } finally {
    await own.stop();
  }
});

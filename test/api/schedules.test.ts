/** Schedules: one job for each of their times, however many processes look, and whatever happened meanwhile. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runDue } from '../../apps/api/src/schedules/run-schedules.ts';
import type { Job, Schedule } from '../../packages/shared/src/index.ts';
import { keysOf, redisNow } from '../../packages/shared/src/redis/index.ts';
import { lehrShell } from '../client/lehr-command.ts';
import { servedApi } from '../client/served-api.ts';
import { blocksOf, readText } from '../repo/readme.ts';
import { type ApiWorld, apiWorld, problemOf } from '../support/api-world.ts';
import { installation } from '../support/installation.ts';
import { keyHolder } from '../support/key-holder.ts';
import { startLehr } from '../support/lehr-process.ts';
import { startRedis, type TestRedis, testRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const HOUR_S = 3600;
const PICTURE = { type: 'text-to-image', input: { prompt: 'a red circle' } };
const HOURLY = { name: 'hourly', every_s: HOUR_S, request: PICTURE };

async function create(world: Pick<ApiWorld, 'ask'>, fields: object = HOURLY): Promise<Schedule> {
  const response = await world.ask('POST', '/v1/schedules', fields);
  expect(response.status).toBe(201);
  return (await response.json()) as Schedule;
}

const read = async ({ ask }: Pick<ApiWorld, 'ask'>, id: string): Promise<Schedule> =>
  (await (await ask('GET', `/v1/schedules/${id}`)).json()) as Schedule;

const jobsOf = async ({ ask }: ApiWorld): Promise<Job[]> =>
  ((await (await ask('GET', '/v1/jobs?limit=100')).json()) as { data: Job[] }).data;

/** As if so much more time and a ms had passed since the schedule was made, and nothing had run meanwhile: no two times are the same. */
async function passTime({ parts: { redis, keys } }: ApiWorld, id: string, ms: number): Promise<void> {
  const [created, next] = (await redis.hmget(keys.schedule(id), 'created_at', 'next')).map(Number);
  const shift = ms + 1;
  await redis.hset(keys.schedule(id), { created_at: created - shift, next: next - shift });
  await redis.zadd(keys.schedulesDue, 'XX', next - shift, id);
}

test('A schedule shows its next five runs, is listed, changed, paused and deleted', async () => {
  const world = await apiWorld(server.url);
  const { name, request } = HOURLY;
  const made = await create(world, { name, request, cron: '30 2 * * *', timezone: 'Europe/Berlin' });
  expect(made).toMatchObject({ status: 'active', every_s: null, catch_up: 'last', last_runs: [] });
  expect(made.next_runs).toHaveLength(5);
  for (const each of made.next_runs) {
    const time = new Date(each).toLocaleTimeString('de', { timeZone: 'Europe/Berlin' });
    expect(time).toBe('02:30:00');
  }
  const path = `/v1/schedules/${made.id}`;
  const change = async (body: object): Promise<Schedule> =>
    (await (await world.ask('PATCH', path, body)).json()) as Schedule;
  expect(await change({ paused: true })).toMatchObject({ status: 'paused', next_runs: [], cron: made.cron });
  expect(await change({ every_s: 60, paused: false })).toMatchObject({ cron: null, every_s: 60 });
  const listed = (await (await world.ask('GET', '/v1/schedules')).json()) as { data: Schedule[] };
  expect(listed.data.map(({ id }) => id)).toEqual([made.id]);
  expect((await world.ask('DELETE', path)).status).toBe(204);
  expect((await world.ask('GET', path)).status).toBe(404);
  await runDue(world.parts);
  const { redis, keys } = world.parts;
  expect(await redis.keys(`${keys.prefix}:schedule*`)).toEqual([]);
});

test.each([
  ['no times', { every_s: undefined }, '/cron'],
  ['two kinds of times', { cron: '0 0 * * *' }, '/cron'],
  ['an expression that is not valid', { every_s: undefined, cron: '61 0 * * *' }, '/cron'],
  ['a zone that there is not', { every_s: undefined, cron: '0 0 * * *', timezone: 'Mars/Base' }, '/cron'],
  ['a job with a time', { request: { ...PICTURE, delay_s: 5 } }, '/request'],
  ['a job that is not valid', { request: { type: 'text-to-image', input: {} } }, '/request/input/prompt'],
])('A schedule with %s is refused, and the answer names the field', async (_, fields, pointer) => {
  const world = await apiWorld(server.url);
  const response = await world.ask('POST', '/v1/schedules', { ...HOURLY, ...fields });
  expect(response.status).toBe(422);
  expect((await problemOf(response)).errors).toMatchObject([{ pointer }]);
});

test('Two API processes that look at the same time make one job for each time, and the run shows its state', async () => {
  const one = await apiWorld(server.url);
  const two = await apiWorld(server.url, { keys: one.parts.keys });
  const { id } = await create(one);
  for (let round = 1; round <= 3; round += 1) {
    await passTime(one, id, HOUR_S * 1000);
    const all = [one, two, one, two].map(({ parts }) => runDue(parts));
    await Promise.all(all);
    expect(await jobsOf(one)).toHaveLength(round);
  }
  await one.worker.succeed(await one.worker.take());
  const { last_runs } = await read(two, id);
  expect(last_runs.map(({ status }) => status).sort()).toEqual(['queued', 'queued', 'succeeded']);
  expect(last_runs.map(({ job }) => job).sort()).toEqual((await jobsOf(one)).map((job) => job.id).sort());
});

test('A process that dies between the job and the note of its run leaves no second job', async () => {
  const world = await apiWorld(server.url);
  const { redis, keys } = world.parts;
  const { id } = await create(world);
  await passTime(world, id, HOUR_S * 1000);
  const before = await redis.hgetall(keys.schedule(id));
  await runDue(world.parts);
  await redis.hset(keys.schedule(id), before);
  await redis.del(keys.scheduleRuns(id));
  await redis.zadd(keys.schedulesDue, 0, id);
  await runDue(world.parts);
  const jobs = await jobsOf(world);
  expect(jobs).toHaveLength(1);
  expect((await read(world, id)).last_runs).toMatchObject([{ job: jobs[0].id, status: 'queued' }]);
});

test.each([
  ['none', 0, ['missed']],
  ['last', 1, ['queued', 'missed']],
  ['all', 24, undefined],
])('After a day without any process, `catch_up: %s` makes %i jobs', async (catch_up, count, runs) => {
  const world = await apiWorld(server.url);
  const { id } = await create(world, { ...HOURLY, catch_up });
  await passTime(world, id, 24 * HOUR_S * 1000 + 120_000);
  await runDue(world.parts);
  await runDue(world.parts);
  expect(await jobsOf(world)).toHaveLength(count);
  const { last_runs, next_runs } = await read(world, id);
  if (runs) expect(last_runs.map(({ status }) => status)).toEqual(runs);
  expect(Date.parse(next_runs[0])).toBeGreaterThan(await redisNow(world.parts.redis));
});

test('A clock that is set back repeats no run: the schedule waits until the clock has caught up', async () => {
  const world = await apiWorld(server.url);
  const { redis, keys } = world.parts;
  const { id } = await create(world);
  await passTime(world, id, HOUR_S * 1000);
  await runDue(world.parts);
  // By the clock of Redis, the next time is now two hours ahead, and the set still says that it is due.
  await passTime(world, id, -HOUR_S * 1000);
  await redis.zadd(keys.schedulesDue, 0, id);
  await runDue(world.parts);
  expect(await jobsOf(world)).toHaveLength(1);
  const next = await redis.hget(keys.schedule(id), 'next');
  expect(Number(await redis.zscore(keys.schedulesDue, id))).toBeGreaterThan(Number(next) - 60_000);
});

test('With `overlap: skip` no job is made while the one before has not ended', async () => {
  const world = await apiWorld(server.url);
  const { id } = await create(world, { ...HOURLY, overlap: 'skip' });
  const pass = async (): Promise<void> => {
    await passTime(world, id, HOUR_S * 1000);
    await runDue(world.parts);
  };
  await pass();
  await pass();
  await world.worker.succeed(await world.worker.take());
  await pass();
  const states = (await read(world, id)).last_runs.map(({ status }) => status);
  expect(states).toEqual(['queued', 'skipped', 'succeeded']);
});

test('A job that is refused is shown with its error, and the next run is made', async () => {
  const world = await apiWorld(server.url);
  const { id } = await create(world, { ...HOURLY, request: { ...PICTURE, model: 'gone' } });
  await passTime(world, id, HOUR_S * 1000);
  await runDue(world.parts);
  expect((await read(world, id)).last_runs).toMatchObject([
    { job: null, status: 'refused', error: { code: 'model-not-found' } },
  ]);
  await world.ask('PATCH', `/v1/schedules/${id}`, { request: PICTURE });
  await passTime(world, id, HOUR_S * 1000);
  await runDue(world.parts);
  expect(await jobsOf(world)).toHaveLength(1);
});

test('A schedule whose key is revoked ends, and goes on with the key of another one of its tenant', async () => {
  const world = await apiWorld(server.url);
  const [first, second] = [await keyHolder(world, 'acme'), await keyHolder(world, 'acme')];
  const { id } = await create(first);
  await world.ask('DELETE', `/v1/keys/${first.key.id}`);
  await passTime(world, id, HOUR_S * 1000);
  // The process may know the key for a second more.
  await expect
    .poll(async () => {
      await world.parts.redis.zadd(world.parts.keys.schedulesDue, 'XX', 0, id);
      await runDue(world.parts);
      return (await read(second, id)).status;
    })
    .toBe('ended');
  const resumed = await second.ask('PATCH', `/v1/schedules/${id}`, {});
  expect(await resumed.json()).toMatchObject({ status: 'active' });
});

test('The commands of docs/schedules.md make a schedule, list it, pause it and delete it', async () => {
  const api = await servedApi(server.url);
  const { run } = await lehrShell({ LEHR_URL: api.url, LEHR_API_KEY: api.key });
  const block = (label: string): string =>
    blocksOf(readText('docs/schedules.md')).find((each) => each.label === label)?.text ?? '';
  expect(await run(block('digest'))).toMatch(/^schedule_\S+ active, 30 2 \* \* \* Europe\/Berlin, next 20/m);
  const said = await run(block('manage'));
  expect(said).toMatch(/nightly digest +active/);
  expect(said).toContain('paused, 30 2 * * * Europe/Berlin, next never');
  expect(said).toContain('deleted: schedule_');
});

test('A schedule goes on after an API process and Redis are killed, with one job for its time', async () => {
  const own = await startRedis();
  try {
    const env = await installation(own.url, { LEHR_API_KEY: 'lehr_test_key_0123456789' });
    const apis = [startLehr('api', env), startLehr('api', env)];
    const urls = await Promise.all(
      apis.map(async (api) => String((await api.logged('API is listening')).url)),
    );
    const headers = { authorization: `Bearer ${env.LEHR_API_KEY}`, 'content-type': 'application/json' };
    const ask = (path: string, init: object = {}) => fetch(`${urls[1]}${path}`, { headers, ...init });
    const body = JSON.stringify(HOURLY);
    const { id } = (await (await ask('/v1/schedules', { method: 'POST', body })).json()) as Schedule;
    const keys = keysOf(env.LEHR_NAMESPACE);
    const redis = testRedis(own.url);
    const next = (await redisNow(redis)) + 1500;
    await redis.hset(keys.schedule(id), { created_at: next - HOUR_S * 1000, next });
    await redis.zadd(keys.schedulesDue, next, id);
    apis[0].signal('SIGKILL');
    await own.kill();
    await own.restart();
    const runs = async (): Promise<unknown> => {
      const response = await ask(`/v1/schedules/${id}`);
      return response.status === 200 && ((await response.json()) as Schedule).last_runs.length;
    };
    await expect.poll(runs, { timeout: 30_000 }).toBe(1);
    const jobs = (await (await ask('/v1/jobs')).json()) as { data: Job[] };
    expect(jobs.data).toHaveLength(1);
  } finally {
    await own.stop();
  }
});

/** What operators read of the whole installation: settings, the use of tenants, dead letters, traffic. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { countsOf, writeApiCounts } from '../../apps/api/src/operations/api-counts.ts';
import {
  type Clock,
  DeadLettersSchema,
  firstJobIdAt,
  type JobId,
  newJobId,
  reportRunning,
  SettingListSchema,
  systemClock,
  type TenantId,
  type Traffic,
  TrafficSchema,
  type Usage,
  UsageSchema,
} from '../../packages/shared/src/index.ts';
import { API_KEY, type ApiWorld, apiWorld, jobOf, problemOf } from '../support/api-world.ts';
import { keyHolder } from '../support/key-holder.ts';
import { newJob } from '../support/queue-world.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const PATHS = ['/v1/settings', '/v1/dead-letters', '/v1/traffic'];
const SECRET = 'a secret red circle';
const PICTURE = { type: 'text-to-image', input: { prompt: SECRET } };

const read = async (world: ApiWorld, path: string): Promise<unknown> => (await world.ask('GET', path)).json();

/** The time of the system at its call, and later only what the test lets pass. */
function shiftedClock(): { readonly clock: Clock; pass(ms: number): void } {
  const start = systemClock.now();
  let passed = 0;
  const clock: Clock = { ...systemClock, now: () => start + passed, monotonic: () => passed };
  return {
    clock,
    pass: (ms) => {
      passed += ms;
    },
  };
}

test.each(PATHS)('A key without the scope admin is refused: %s', async (path) => {
  const world = await apiWorld(server.url);
  const { ask } = await keyHolder(world, 'acme', { scopes: ['submit', 'read', 'cancel'] });
  const response = await ask('GET', path);
  expect(response.status).toBe(403);
  expect(await problemOf(response)).toMatchObject({ type: 'urn:lehr:problem:forbidden' });
});

test('The settings in force are listed, and of a secret only that it is set', async () => {
  const world = await apiWorld(server.url);
  const { data } = SettingListSchema.strict().parse(await read(world, '/v1/settings'));
  expect(data).toMatchObject([
    { name: 'LEHR_API_KEY', value: null, is_set: true, is_secret: true },
    { name: 'LEHR_MAX_WAIT_S', value: '600', is_set: true, is_secret: false },
  ]);
  expect(JSON.stringify(data)).not.toContain(API_KEY);
});

test('The use of each tenant has its jobs by hour, and what waits and runs', async () => {
  const world = await apiWorld(server.url);
  const [ada, bob] = [await keyHolder(world, 'ada'), await keyHolder(world, 'bob')];
  for (const { ask } of [ada, ada, bob]) expect((await ask('POST', '/v1/jobs', PICTURE)).status).toBe(202);
  await world.worker.take();
  const usage: Usage = UsageSchema.strict().parse(await read(world, '/v1/usage'));
  expect(usage.tenants.map(({ tenant }) => tenant)).toEqual(['ada', 'bob']);
  const hours = usage.tenants.map(({ jobs_by_hour }) => jobs_by_hour);
  expect(hours.map((each) => each.length)).toEqual([24, 24]);
  expect(hours.map((each) => each.reduce((sum, jobs) => sum + jobs, 0))).toEqual([2, 1]);
  expect(hours[0].slice(0, 22)).toEqual(Array(22).fill(0));
  const total = (of: 'waiting' | 'running') => usage.tenants.reduce((sum, each) => sum + each[of], 0);
  expect([total('waiting'), total('running')]).toEqual([2, 1]);
});

test('A job of an API whose clock is ahead counts in the last hour', async () => {
  const world = await apiWorld(server.url);
  const ada = await keyHolder(world, 'ada');
  expect((await ada.ask('POST', '/v1/jobs', PICTURE)).status).toBe(202);
  const { redis, keys } = world.parts;
  const later = `${firstJobIdAt(Date.now() + 60_000)}0000000000000000`;
  await redis.zadd(keys.jobsOf('ada' as TenantId), 0, later);
  const usage: Usage = UsageSchema.parse(await read(world, '/v1/usage'));
  expect(usage.tenants[0].jobs_by_hour.at(-1)).toBe(2);
});

test('Dead letters are the failed jobs of all tenants without their inputs, and what could not be read', async () => {
  const world = await apiWorld(server.url);
  const { ask } = await keyHolder(world, 'ada');
  const failed = await jobOf(await ask('POST', '/v1/jobs', PICTURE));
  const claim = await world.worker.take();
  await world.worker.fail(claim, {
    code: 'numeric-error',
    title: 'Bad numbers',
    detail: SECRET,
    retryable: false,
  });
  await ask('POST', '/v1/jobs', PICTURE);
  const { redis, keys } = world.parts;
  await redis.hset(
    keys.unreadable,
    'job_x',
    JSON.stringify({ at: '2026-11-23T00:00:00.000Z', reason: 'is odd' }),
  );
  const letters = DeadLettersSchema.strict().parse(await read(world, '/v1/dead-letters'));
  expect(letters.failed).toMatchObject([{ job: failed.id, tenant: 'ada', code: 'numeric-error' }]);
  expect(letters.unreadable).toMatchObject([{ id: 'job_x', reason: 'is odd' }]);
  expect(JSON.stringify(letters)).not.toContain(SECRET);
});

test('Failures are found behind any number of newer jobs, page by page, until they are deleted', async () => {
  const world = await apiWorld(server.url);
  const { records, redis, keys } = world.parts;
  const tenants = Array.from({ length: 60 }, (_, i) => `t${i}` as TenantId);
  const jobs = Array.from({ length: 103 }, (_, i) => newJob({ tenant: tenants[i % tenants.length] }));
  await Promise.all(jobs.map((job) => records.create(job, async () => {})));
  const error = { code: 'numeric-error', title: 'Bad numbers', detail: SECRET, retryable: false };
  await records.apply(jobs.map(({ id }) => ({ move: 'fail', id, fields: { error } })));
  for (const tenant of tenants) {
    const newer = Array.from({ length: 100 }, () => [0, newJobId()]).flat();
    await redis.zadd(keys.jobsOf(tenant), ...newer);
  }
  const page = async (query = '') => {
    const letters = DeadLettersSchema.strict().parse(await read(world, `/v1/dead-letters${query}`));
    return { jobs: letters.failed.map(({ job }) => job), next: letters.next_cursor };
  };
  const first = await page();
  const second = await page(`?cursor=${first.next}`);
  expect([first.jobs.length, second.jobs.length, second.next]).toEqual([100, 3, null]);
  const all = [...first.jobs, ...second.jobs];
  expect([...all].sort()).toEqual(jobs.map(({ id }) => id).sort());
  const [deleted] = await records.readMany([all[102] as JobId]);
  if (deleted) await records.delete(deleted);
  expect(await page(`?cursor=${first.next}`)).toEqual({ jobs: all.slice(100, 102), next: null });
  expect((await world.ask('GET', '/v1/dead-letters?cursor=x')).status).toBe(400);
});

test('The traffic has rates from the counters of all processes, and one reading serves all callers for a second', async () => {
  const { clock, pass } = shiftedClock();
  const world = await apiWorld(server.url, { clock });
  const { redis, keys, metrics } = world.parts;
  const traffic = async (): Promise<Traffic> =>
    TrafficSchema.strict().parse(await read(world, '/v1/traffic'));
  const report = async (ended: number) => {
    await writeApiCounts(redis, keys, 'api-1', clock.now(), await countsOf(metrics));
    await world.worker.report({});
    const counts = { 'ended tiny@1': ended, 'claimed tiny@1': ended, 'claimed_s tiny@1': ended * 0.2 };
    await reportRunning(redis, keys, world.worker.id, { samples: [], calls: [], counts });
  };
  await report(10);
  const first = await traffic();
  expect(first.window_s).toBeNull();
  expect(first.apis).toMatchObject([{ id: 'api-1', requests_per_s: null }]);
  expect(first.models.map(({ model }) => model)).toEqual(['tiny@1', 'split@a', 'split@b']);

  for (let i = 0; i < 3; i += 1) await world.post();
  expect((await world.ask('POST', '/v1/jobs', { type: 'nothing' })).status).toBe(422);
  pass(500);
  expect((await traffic()).at).toBe(first.at);
  pass(1_500);
  await report(20);
  const second = await traffic();
  expect(second.window_s).toBe(2);
  expect(second.apis[0].requests_per_s).toBeGreaterThanOrEqual(2);
  expect(second.apis[0].refused_per_s).toBe(0.5);
  expect(second.models[0]).toMatchObject({ waiting: 3, running: 0, accepted_per_s: 1.5 });
  expect(second.workers[0].models).toMatchObject([{ model: 'tiny@1', ended_per_s: 5, wait_ms: 200 }]);
});

test('An API process that is gone leaves the traffic', async () => {
  const { clock, pass } = shiftedClock();
  const world = await apiWorld(server.url, { clock });
  const { redis, keys } = world.parts;
  await writeApiCounts(redis, keys, 'api-1', clock.now(), {});
  await writeApiCounts(redis, keys, 'api-2', clock.now() + 9_000, {});
  pass(11_000);
  const { apis } = TrafficSchema.parse(await read(world, '/v1/traffic'));
  expect(apis.map(({ id }) => id)).toEqual(['api-2']);
});

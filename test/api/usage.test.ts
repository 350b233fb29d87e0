/** The use of days: who reads what, over which days, summed up by what, as JSON and as a table. */
import { expect, test } from 'vitest';
import { csvCell } from '../../apps/api/src/operations/usage.ts';
import {
  type Clock,
  systemClock,
  type TenantId,
  type Usage,
  UsageSchema,
} from '../../packages/shared/src/index.ts';
import { type ApiWorld, apiWorld, problemOf } from '../support/api-world.ts';
import { shared, whenDone } from '../support/cleanup.ts';
import { keyHolder } from '../support/key-holder.ts';
import { startRedis } from '../support/redis.ts';

const PICTURE = { type: 'text-to-image', input: { prompt: 'a red circle' } };
const TODAY = Date.UTC(2026, 10, 29) / 86_400_000;
/** Of three days, tenants and models: what scripts have counted. */
const COUNTED: readonly (readonly [day: number, tenant: string, pair: string, counted: readonly number[]])[] =
  [
    [TODAY - 2, 'ada', 'k1 tiny@1', [2, 0, 0, 0, 7200000000]],
    [TODAY - 1, 'ada', 'k1 tiny@1', [1, 1, 0, 0, 1800000000]],
    [TODAY - 1, 'ada', '=k2 tiny@2', [1, 0, 0, 1, 1500]],
    [TODAY - 1, 'bob', '- -', [0, 0, 3, 0, 0]],
    [TODAY, 'ada', 'k1 other@1', [4, 0, 0, 0, 400000]],
  ];

/** One second before midnight, in UTC. */
let now = (TODAY + 1) * 86_400_000 - 1000;
const clock: Clock = { ...systemClock, now: () => now };
const scene = shared(async () => {
  const server = await startRedis();
  whenDone(() => server.stop());
  const world = await apiWorld(server.url, { clock, devicePrice: 2, currency: 'EUR' });
  const ada = await keyHolder(world, 'ada', { scopes: ['submit', 'read', 'cancel'] });
  const { redis, keys } = world.parts;
  for (const [day, tenant, pair, counted] of COUNTED) {
    const counters = ['s', 'f', 'c', 'e', 'us'].map((what, i) => [`${pair} ${what}`, counted[i]]);
    await redis.hset(keys.usage(day, tenant as TenantId), ...counters.flat());
    await redis.sadd(keys.usageTenants(day), tenant);
  }
  return { server, world, ada };
});

const read = async (query: string, ask: ApiWorld['ask'] = scene.world.ask): Promise<Usage> =>
  UsageSchema.strict().parse(await (await ask('GET', `/v1/usage${query}`)).json());

test('An administrator reads all tenants, by default today by tenant', async () => {
  const usage = await read('');
  expect(usage).toMatchObject({ from: '2026-11-29', to: '2026-11-29', by: ['tenant'], currency: 'EUR' });
  expect(usage.rows).toEqual([
    {
      tenant: 'ada',
      jobs: 4,
      succeeded: 4,
      failed: 0,
      canceled: 0,
      expired: 0,
      device_s: 0.4,
      price: 0.000222,
    },
  ]);
});

test('Days are summed up by the parts that are asked for, in their order, with prices of the device time', async () => {
  const { rows, total, by } = await read('?from=2026-11-27&to=2026-11-29&by=model,day');
  expect(by).toEqual(['day', 'model']);
  expect(rows.map(({ day, model, jobs, device_s, price }) => [day, model, jobs, device_s, price])).toEqual([
    ['2026-11-27', 'tiny@1', 2, 7200, 4],
    ['2026-11-28', null, 3, 0, 0],
    ['2026-11-28', 'tiny@1', 2, 1800, 1],
    ['2026-11-28', 'tiny@2', 2, 0.002, 0.000001],
    ['2026-11-29', 'other@1', 4, 0.4, 0.000222],
  ]);
  expect(total).toMatchObject({
    jobs: 13,
    succeeded: 8,
    failed: 1,
    canceled: 3,
    expired: 1,
    price: 5.000223,
  });
});

test.each([
  ['tenant=bob', 3],
  ['key=k1', 8],
  ['model=tiny', 6],
  ['model=tiny@2', 2],
  ['model=tin', 0],
])('The use is filtered by %s', async (filter, jobs) => {
  expect((await read(`?from=2026-11-20&by=day&${filter}`)).total.jobs).toBe(jobs);
});

test('A tenant reads its own use and that of no other', async () => {
  const usage = await read('?from=2026-11-20&by=tenant,key', scene.ada.ask);
  expect(usage.rows.map(({ tenant, key, jobs }) => [tenant, key, jobs])).toEqual([
    ['ada', '=k2', 2],
    ['ada', 'k1', 8],
  ]);
  expect(usage.tenants.map(({ tenant }) => tenant)).toEqual(['ada']);
  expect((await read('?tenant=ada', scene.ada.ask)).total.jobs).toBe(4);
  const refused = await scene.ada.ask('GET', '/v1/usage?tenant=bob');
  expect(refused.status).toBe(403);
  const submitter = await keyHolder(scene.world, 'ada', { scopes: ['submit'] });
  expect((await submitter.ask('GET', '/v1/usage')).status).toBe(403);
});

test('After midnight in UTC, today is the next day', async () => {
  now += 1000;
  try {
    expect(await read('')).toMatchObject({ from: '2026-11-30', to: '2026-11-30', rows: [] });
  } finally {
    now -= 1000;
  }
});

test.each([
  ['from=2026-11-30', 'from'],
  ['from=2025-10-25', 'from'],
  ['from=yesterday', 'from'],
  ['to=2026-02-30', 'to'],
  ['by=week', 'by'],
  ['format=xml', 'format'],
  ['group=day', 'group'],
])('What cannot be answered names its field: %s', async (query, field) => {
  const response = await scene.world.ask('GET', `/v1/usage?${query}`);
  expect(response.status).toBe(400);
  expect((await problemOf(response)).errors?.map(({ pointer }) => pointer)).toEqual([`?${field}`]);
});

test('As CSV, it is a table that no spreadsheet runs', async () => {
  const query = '/v1/usage?from=2026-11-28&to=2026-11-28&by=day,tenant,key,model';
  const text = [
    'day,tenant,key,model,jobs,succeeded,failed,canceled,expired,device_s,price,currency',
    `2026-11-28,ada,'=k2,tiny@2,2,1,0,0,1,0.002,0.000001,EUR`,
    '2026-11-28,ada,k1,tiny@1,2,1,1,0,0,1800,1,EUR',
    '2026-11-28,bob,,,3,0,0,3,0,0,0,EUR',
    '',
  ].join('\r\n');
  const asked = [
    await scene.world.ask('GET', `${query}&format=csv`),
    await scene.world.ask('GET', query, undefined, { headers: { accept: 'text/csv' } }),
  ];
  for (const response of asked) {
    expect(response.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    expect(response.headers.get('content-disposition')).toContain('usage-2026-11-28-2026-11-28.csv');
    expect(await response.text()).toBe(text);
  }
  expect(['a,b', 'say "x"', '@sum', 'plain', -1].map(csvCell)).toEqual([
    '"a,b"',
    '"say ""x"""',
    `'@sum`,
    'plain',
    '-1',
  ]);
});

test('Without a price, there is no money in it', async () => {
  const free = await apiWorld(scene.server.url, { clock, keys: scene.world.parts.keys });
  const response = await free.ask('GET', '/v1/usage');
  const { rows, total, currency } = UsageSchema.parse(await response.json());
  expect(currency).toBeNull();
  expect([...rows, total].some((each) => 'price' in each)).toBe(false);
  expect(await (await free.ask('GET', '/v1/usage?format=csv')).text()).not.toContain('price');
});

test('A job that ended is in the use of its key, and stays there when it is deleted', async () => {
  const real = await apiWorld(scene.server.url);
  const holder = await keyHolder(real, 'ada');
  const made = await holder.ask('POST', '/v1/jobs', PICTURE);
  const { id } = (await made.json()) as { id: string };
  await real.worker.succeed(await real.worker.take());
  expect((await holder.ask('DELETE', `/v1/jobs/${id}`)).status).toBe(204);
  const response = await holder.ask('GET', '/v1/usage?by=key,model');
  const { rows } = UsageSchema.parse(await response.json());
  expect(rows).toMatchObject([{ key: holder.key.id, model: 'tiny@1', jobs: 1, succeeded: 1 }]);
});

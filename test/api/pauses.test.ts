/** Pauses over the real API and Redis: who may set them, what they say, and what becomes of new jobs. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Backlog } from '../../apps/api/src/fleet/backlog.ts';
import { PoolScaler } from '../../apps/api/src/fleet/pool-scaler.ts';
import {
  type Activity,
  AuditListSchema,
  DEFAULT_POOLS,
  type Job,
  type JobId,
  type JobList,
  type LeaseToken,
  PauseListSchema,
  type QueueList,
} from '../../packages/shared/src/index.ts';
import { apiWorld, problemOf } from '../support/api-world.ts';
import { keyHolder } from '../support/key-holder.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const MODEL = 'tiny';
const job = { type: 'text-to-image', model: MODEL, input: { prompt: 'a circle' } };

test('An administrator pauses and resumes a model, the queues show it, and the audit log says who and why', async () => {
  const world = await apiWorld(server.url);
  expect((await world.ask('POST', '/v1/jobs', job)).status).toBe(202);
  const set = await world.ask('PUT', `/v1/pauses/${MODEL}`, { reason: 'new driver' });
  expect(set.status).toBe(200);
  const listed = PauseListSchema.strict().parse(await (await world.ask('GET', '/v1/pauses')).json());
  expect(listed.data).toEqual([await set.json()]);
  expect(listed.data).toMatchObject([
    { model: MODEL, submissions: 'accepted', now: false, reason: 'new driver', by: 'root' },
  ]);
  expect((await world.ask('POST', '/v1/jobs', job)).status).toBe(202);
  const queues = async () => (await (await world.ask('GET', '/v1/queues')).json()) as QueueList;
  expect((await queues()).data).toMatchObject([{ waiting: 2, paused: true, wait_ms: null }]);
  const { data: jobs } = (await (await world.ask('GET', '/v1/jobs')).json()) as JobList;
  expect(jobs[0]).toMatchObject({ queue: { position: 2, eta_ms: null }, waits_for: 'model' });
  expect((await queues()).models.filter(({ paused }) => paused).map(({ model }) => model)).toEqual([
    `${MODEL}@1`,
  ]);
  const metrics = await (await world.app.request('/metrics')).text();
  expect(metrics).toContain(`lehr_model_paused{model="${MODEL}",version="1"} 1`);
  expect(metrics).toContain('lehr_model_paused{model="split",version="a"} 0');
  const activity = (await (await world.ask('GET', '/v1/activity')).json()) as Activity;
  expect(activity.waiting.queues).toMatchObject([{ paused: true }]);

  expect((await world.ask('DELETE', `/v1/pauses/${MODEL}`)).status).toBe(204);
  expect((await world.ask('DELETE', `/v1/pauses/${MODEL}`)).status).toBe(404);
  expect((await queues()).data).toMatchObject([{ waiting: 2, paused: false }]);
  const { data } = AuditListSchema.parse(await (await world.ask('GET', '/v1/audit')).json());
  expect(data.slice(0, 2)).toMatchObject([
    { action: 'pause.ended', actor: 'root', target: MODEL },
    { action: 'pause.set', actor: 'root', target: MODEL, changes: { reason: 'new driver', now: false } },
  ]);
});

test('A pause that refuses new jobs answers 503 with its reason for exactly these, workflows included, and makes nothing', async () => {
  const world = await apiWorld(server.url);
  await world.ask('PUT', `/v1/pauses/${MODEL}@1`, { submissions: 'refused', reason: 'a new disk' });
  const workflow = {
    type: 'workflow',
    nodes: [{ id: 'draw', type: 'text-to-image', model: MODEL, input: { prompt: 'a circle' } }],
  };
  for (const request of [job, workflow]) {
    const refused = await world.ask('POST', '/v1/jobs', request);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '60']);
    expect((await problemOf(refused)).detail).toBe(
      'The model tiny@1 is paused, and new jobs are refused: a new disk.',
    );
  }
  expect(await (await world.ask('GET', '/v1/jobs')).json()).toMatchObject({ data: [] });
  await world.ask('DELETE', `/v1/pauses/${MODEL}@1`);
  expect((await world.ask('POST', '/v1/jobs', job)).status).toBe(202);
  await world.ask('PUT', '/v1/pauses/*', { submissions: 'refused' });
  expect((await problemOf(await world.ask('POST', '/v1/jobs', job))).detail).toBe(
    'All models are paused, and new jobs are refused.',
  );
});

test('A paused tenant is named to administrators and to itself, its new jobs wait or are refused, and others go on', async () => {
  const world = await apiWorld(server.url);
  const acme = await keyHolder(world, 'acme');
  const other = await keyHolder(world, 'other');
  const { id } = (await (await acme.ask('POST', '/v1/jobs', job)).json()) as Job;
  const set = await world.ask('PUT', '/v1/pauses/tenant:acme', { reason: 'a bill' });
  expect(await set.json()).toMatchObject({ model: null, tenant: 'acme', reason: 'a bill' });
  const pausedFor = async ({ ask }: Pick<typeof acme, 'ask'>) =>
    ((await (await ask('GET', '/v1/queues')).json()) as QueueList).paused_tenants;
  expect(await Promise.all([world, acme, other].map(pausedFor))).toEqual([['acme'], ['acme'], []]);
  expect(await (await world.app.request('/metrics')).text()).toContain('lehr_tenants_paused 1');

  const [{ name }] = ((await (await world.ask('GET', '/v1/queues')).json()) as QueueList).data;
  await expect(world.worker.take(name)).rejects.toThrow('nothing waits');
  const parked = (await (await acme.ask('GET', `/v1/jobs/${id}`)).json()) as Job;
  expect(parked).toMatchObject({ status: 'queued', queue: null, waits_for: 'tenant' });

  await world.ask('PUT', '/v1/pauses/tenant:acme', { submissions: 'refused' });
  const refused = await acme.ask('POST', '/v1/jobs', job);
  expect((await problemOf(refused)).detail).toBe('The jobs of acme are paused, and new jobs are refused.');
  expect((await other.ask('POST', '/v1/jobs', job)).status).toBe(202);
  expect((await world.ask('DELETE', '/v1/pauses/tenant:acme')).status).toBe(204);
  expect((await acme.ask('POST', '/v1/jobs', job)).status).toBe(202);
  const { data } = AuditListSchema.parse(await (await world.ask('GET', '/v1/audit')).json());
  expect(data[0]).toMatchObject({ action: 'pause.ended', tenant: 'acme', target: 'tenant:acme' });
});

test('A job says what it lets run at once, its retry and the nodes of a workflow too, and a wrong value is named', async () => {
  const world = await apiWorld(server.url);
  const concurrency = { key: 'customer-42', max: 2 };
  const { id } = (await (await world.ask('POST', '/v1/jobs', { ...job, concurrency })).json()) as Job;
  expect(await (await world.ask('GET', `/v1/jobs/${id}`)).json()).toMatchObject({ concurrency });
  await world.ask('POST', `/v1/jobs/${id}/cancel`);
  expect(await (await world.ask('POST', `/v1/jobs/${id}/retry`)).json()).toMatchObject({ concurrency });
  const nodes = [{ id: 'draw', type: 'text-to-image', model: MODEL, input: { prompt: 'a circle' } }];
  const made = await world.ask('POST', '/v1/jobs', { type: 'workflow', nodes, concurrency });
  const workflow = (await made.json()) as Job;
  expect(workflow).toMatchObject({ concurrency });
  await expect
    .poll(async () => (await world.parts.records.read(workflow.nodes?.[0].job as JobId))?.concurrency)
    .toEqual(concurrency);
  for (const [wrong, pointer] of [
    [{ key: 'a b', max: 1 }, '/concurrency/key'],
    [{ key: 'a', max: 0 }, '/concurrency/max'],
    [{ key: 'a' }, '/concurrency/max'],
  ] as const) {
    const refused = await world.ask('POST', '/v1/jobs', { ...job, concurrency: wrong });
    expect((await problemOf(refused)).errors).toMatchObject([{ pointer }]);
  }
});

test.each([
  ['PUT', '/v1/pauses/tenant:nobody', {}, 404],
  ['PUT', '/v1/pauses/tenant:No_Body', {}, 400],
  ['PUT', '/v1/pauses/no-such-model', {}, 404],
  ['PUT', `/v1/pauses/${MODEL}@9`, {}, 404],
  ['PUT', '/v1/pauses/a@b@c', {}, 400],
  ['PUT', `/v1/pauses/${MODEL}`, { submissions: 'lost' }, 422],
  ['PUT', `/v1/pauses/${MODEL}`, { until: 'tomorrow' }, 422],
  ['DELETE', '/v1/pauses/*', undefined, 404],
] as const)('%s %s with %j answers %i and pauses nothing', async (method, path, body, status) => {
  const world = await apiWorld(server.url);
  expect((await world.ask(method, path, body)).status).toBe(status);
  expect(await world.parts.pauses.list()).toEqual([]);
});

test('Only a key with the scope admin sees and changes pauses', async () => {
  const world = await apiWorld(server.url);
  const { ask } = await keyHolder(world, 'acme');
  for (const [method, path] of [
    ['GET', '/v1/pauses'],
    ['PUT', '/v1/pauses/*'],
    ['DELETE', '/v1/pauses/*'],
  ] as const) {
    expect((await ask(method, path, method === 'PUT' ? {} : undefined)).status, `${method} ${path}`).toBe(
      403,
    );
  }
});

test('What waits for a paused model delays no other model, and no worker is started for it', async () => {
  const { parts, ask } = await apiWorld(server.url);
  const { redis, keys, fleet, pauses, clock, registry } = parts;
  for (let i = 0; i < 20; i++) await ask('POST', '/v1/jobs', job);
  // As in another process, which has read nothing before.
  const read = async () => {
    const backlog = new Backlog(redis, keys, fleet, pauses, clock);
    const scaler = new PoolScaler({ redis, keys, pools: DEFAULT_POOLS, registry, fleet, backlog, clock });
    const scale = await scaler.of('all', { isAsked: true });
    return { groups: (await backlog.loads()).size, waitingS: scale?.waiting_s.standard ?? 0 };
  };
  const before = await read();
  expect(before.groups).toBe(1);
  expect(before.waitingS).toBeGreaterThan(0);
  await ask('PUT', '/v1/pauses/*', {});
  expect(await read()).toEqual({ groups: 0, waitingS: 0 });
});

test('A workflow waits at the node whose model is paused, and goes on when it is resumed', async () => {
  const world = await apiWorld(server.url);
  await world.ask('PUT', `/v1/pauses/${MODEL}`, {});
  const workflow = {
    type: 'workflow',
    nodes: [{ id: 'draw', type: 'text-to-image', model: MODEL, input: { prompt: 'a circle' } }],
  };
  expect((await world.ask('POST', '/v1/jobs', workflow)).status).toBe(202);
  const queues = async () => ((await (await world.ask('GET', '/v1/queues')).json()) as QueueList).data;
  await expect
    .poll(async () => (await queues()).map(({ waiting, paused }) => [waiting, paused]))
    .toEqual([[1, true]]);
  const [{ name }] = await queues();
  expect(await world.parts.queues.of(name).claim('lease' as LeaseToken)).toBeUndefined();
  await world.ask('DELETE', `/v1/pauses/${MODEL}`);
  expect(await world.worker.take(name)).toBeDefined();
});

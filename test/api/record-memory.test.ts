/** One tenant that fills Redis with jobs must not close it for the others. */
import { expect, onTestFinished, test } from 'vitest';
import { deleteDueLeftovers, deleteLeftovers } from '../../apps/api/src/jobs/leftovers.ts';
import { boundRecords } from '../../apps/api/src/jobs/space/record-space.ts';
import { keysWith } from '../../lab/chaos/redis-admin.ts';
import { type JobId, systemClock } from '../../packages/shared/src/index.ts';
import { type ApiWorld, apiWorld, jobOf, problemOf } from '../support/api-world.ts';
import { installation } from '../support/installation.ts';
import { type KeyHolder, keyHolder } from '../support/key-holder.ts';
import { startLehr } from '../support/lehr-process.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

const MINUTE_MS = 60_000;
/** About 65 kB in Redis. */
const LARGE = drawing({ prompt: 'p'.repeat(32_000), negative_prompt: 'n'.repeat(32_000) });
const SMALL = drawing({ prompt: 'a circle' });

async function ownRedis(): Promise<TestRedis> {
  const server = await startRedis();
  onTestFinished(() => server.stop());
  return server;
}

function drawing(input: object, rest: object = {}) {
  return { type: 'text-to-image', input, ...rest };
}

/** The API over a Redis of 16 MB. Every reading of the memory is new, so that no job is admitted on an old one. */
async function smallWorld(): Promise<ApiWorld> {
  let now = 0;
  const clock = { ...systemClock, monotonic: () => (now += 10_000) };
  const server = await ownRedis();
  const world = await apiWorld(server.url, { clock });
  const used = Number(/^used_memory:(\d+)/m.exec(await world.parts.redis.info('memory'))?.[1]);
  await world.parts.redis.config('SET', 'maxmemory', `${used + 16_000_000}`);
  return world;
}

/** Creates and cancels jobs until one is refused; returns the ids and the refusal. */
async function fill({ ask }: Pick<KeyHolder, 'ask'>): Promise<{ ids: JobId[]; refused: Response }> {
  const ids: JobId[] = [];
  while (ids.length < 2000) {
    const response = await ask('POST', '/v1/jobs', LARGE);
    if (response.status !== 202) return { ids, refused: response };
    const { id } = await jobOf(response);
    ids.push(id as JobId);
    expect((await ask('POST', `/v1/jobs/${id}/cancel`)).status).toBe(200);
  }
  throw new Error(`${ids.length} jobs were accepted`);
}

/** As if these jobs had ended earlier. */
async function age({ redis, keys }: ApiWorld['parts'], ids: readonly JobId[], ms: number): Promise<void> {
  const pipeline = redis.pipeline();
  for (const id of ids) pipeline.hincrby(keys.record(id), 'finished_at', -ms);
  await pipeline.exec();
}

test('A tenant that fills Redis with ended jobs is refused, loses the oldest of them, and other tenants notice nothing', async () => {
  const world = await smallWorld();
  const { parts } = world;
  const polite = await keyHolder(world, 'polite');
  const hostile = await keyHolder(world, 'hostile');
  const kept = await jobOf(await polite.ask('POST', '/v1/jobs', SMALL));
  await polite.ask('POST', `/v1/jobs/${kept.id}/cancel`);
  await age(parts, [kept.id as JobId], 60 * MINUTE_MS);

  const { ids, refused } = await fill(hostile);
  expect(refused.status).toBe(429);
  expect(await problemOf(refused)).toMatchObject({
    type: 'urn:lehr:problem:rate-limited',
    detail: expect.stringMatching(/almost full, and the jobs of this tenant take \d+ MB of it/),
  });
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(30);
  expect((await polite.ask('POST', '/v1/jobs', SMALL)).status).toBe(202);

  // Nobody loses a job that ended less than a minute ago, however long this test takes.
  await age(parts, ids, -60 * MINUTE_MS);
  expect(await boundRecords(parts)).toBe(0);
  await age(parts, ids, 61 * MINUTE_MS);
  const removed = await boundRecords(parts);
  expect(removed).toBeGreaterThan(5);
  expect(removed).toBeLessThan(ids.length / 2);
  const statusOf = async (id: string): Promise<number> => (await hostile.ask('GET', `/v1/jobs/${id}`)).status;
  expect(await statusOf(ids[0])).toBe(404);
  expect(await statusOf(ids[removed - 1])).toBe(404);
  expect(await statusOf(ids[removed])).toBe(200);
  expect((await hostile.ask('POST', '/v1/jobs', SMALL)).status).toBe(202);
  expect((await polite.ask('GET', `/v1/jobs/${kept.id}`)).status).toBe(200);
  const page = await (await world.ask('GET', '/metrics')).text();
  expect(page).toContain(`lehr_records_removed_total ${removed}`);
});

test('A tenant that fills Redis with waiting jobs is refused alone, and loses none of them', async () => {
  const world = await smallWorld();
  const { parts } = world;
  const polite = await keyHolder(world, 'polite');
  const hostile = await keyHolder(world, 'hostile', { limits: { max_backlog_share: null } });
  // So fast that the memory refuses the jobs before their wait does.
  const lane = {
    queue: 'diffusion.tiny@1.64x64',
    rows: 0,
    row_cap: 8,
    samples: 0,
    row_steps_per_s: 1_000_000,
  };
  await world.worker.report({ lanes: [lane] });
  await polite.ask('POST', '/v1/jobs', SMALL);
  let jobs = 0;
  for (; jobs < 2000; jobs++) {
    const response = await hostile.ask('POST', '/v1/jobs', LARGE);
    if (response.status !== 202) {
      expect(response.status).toBe(429);
      expect((await problemOf(response)).detail).toContain('of this tenant take');
      break;
    }
  }
  expect((await polite.ask('POST', '/v1/jobs', SMALL)).status).toBe(202);
  expect(await boundRecords(parts)).toBe(0);
  const { keys, redis } = parts;
  expect(await redis.zcard(keys.liveOf(hostile.key.tenant as never))).toBe(jobs);
});

test('A job whose webhook is not delivered is not removed, and a workflow is removed with its nodes', async () => {
  const world = await smallWorld();
  const { parts } = world;
  const { redis, keys } = parts;
  const hooked = await jobOf(
    await world.ask('POST', '/v1/jobs', { ...LARGE, webhook: { url: 'https://hooks.example.com/' } }),
  );
  const workflow = await jobOf(
    await world.ask('POST', '/v1/jobs', {
      type: 'workflow',
      nodes: [{ id: 'a', ...SMALL }],
    }),
  );
  const record = await parts.records.read(workflow.id as JobId);
  const node = record?.workflow?.nodes[0].job as JobId;
  for (const { id } of [hooked, workflow]) await world.ask('POST', `/v1/jobs/${id}/cancel`);
  expect(await redis.exists(keys.record(node))).toBe(1);
  // As the janitor does.
  await parts.workflows.sweep();
  const { ids } = await fill(world);
  await age(parts, [hooked.id as JobId, workflow.id as JobId, ...ids], MINUTE_MS);
  expect(await boundRecords(parts)).toBeGreaterThan(1);
  expect(await redis.exists(keys.record(hooked.id as JobId))).toBe(1);
  expect(await redis.exists(keys.record(workflow.id as JobId), keys.record(node))).toBe(0);

  // Once it is delivered, the job goes as well.
  await redis.del(keys.outbox);
  await redis.setrange('padding', 10_000_000, 'x');
  expect(await boundRecords(parts)).toBeGreaterThan(1);
  expect(await redis.exists(keys.record(hooked.id as JobId))).toBe(0);
});

/** All keys of Redis and of the store that name one of these jobs. */
async function namesOf({ parts }: ApiWorld, ids: readonly string[]): Promise<string[]> {
  const names = await keysWith(parts.redis, parts.keys.prefix);
  for await (const key of parts.store.list('out/')) names.push(key);
  return names.filter((name) => ids.some((id) => name.includes(id)));
}

test('Of a job that is removed because Redis filled, nothing is left in its queue, and its outputs go when no link to them is valid', {
  tags: ['long'],
}, async () => {
  const world = await smallWorld();
  const { parts, worker } = world;
  const { redis, keys } = parts;
  const picture = await jobOf(await world.ask('POST', '/v1/jobs', SMALL));
  await worker.succeed(await worker.take());
  const nodes = [{ id: 'a', ...SMALL }];
  const workflow = await jobOf(await world.ask('POST', '/v1/jobs', { type: 'workflow', nodes }));
  const record = await parts.records.read(workflow.id as JobId);
  const node = record?.workflow?.nodes[0].job as JobId;
  await worker.succeed(await worker.take());
  await parts.workflows.advance(workflow.id as JobId);
  await parts.workflows.sweep();
  const ids = [picture.id, workflow.id, node];
  const { ids: others } = await fill(world);
  await age(parts, [picture.id as JobId, workflow.id as JobId, ...others], MINUTE_MS);
  expect(await boundRecords(parts)).toBeGreaterThan(1);
  const left = await namesOf(world, ids);
  expect(left).toEqual([expect.stringMatching(/^out/), expect.stringMatching(/^out/)]);

  // Its caller may have a link that is still valid.
  await deleteDueLeftovers(parts);
  expect(await namesOf(world, ids)).toEqual(left);
  const due = await redis.zrange(keys.leftovers, '0', '-1');
  await redis.zadd(keys.leftovers, ...due.flatMap((entry) => [`${Date.now() - 1}`, entry]));
  await deleteDueLeftovers(parts);
  expect(await namesOf(world, ids)).toEqual([]);
  expect(await redis.exists(keys.leftovers)).toBe(0);
  const { values } = await parts.metrics.janitorActions.get();
  expect(values).toMatchObject([{ labels: { action: 'leftovers' }, value: due.length }]);
});

test('A job whose queue entry is still open is removed after its worker has closed it', {
  tags: ['long'],
}, async () => {
  const world = await smallWorld();
  const { parts, worker } = world;
  const { redis, keys } = parts;
  const { id } = await jobOf(await world.ask('POST', '/v1/jobs', SMALL));
  const claim = await worker.take();
  await parts.records.apply([{ move: 'cancel', id: id as JobId, lease: claim.token }]);
  const { ids } = await fill(world);
  await age(parts, [id as JobId, ...ids], MINUTE_MS);
  expect(await boundRecords(parts)).toBeGreaterThan(1);
  expect(await redis.exists(keys.record(id as JobId))).toBe(1);
  await parts.queues.of(claim.queue).fail(claim, 'canceled');
  await redis.setrange('padding', 10_000_000, 'x');
  await boundRecords(parts);
  expect(await namesOf(world, [id])).toEqual([]);
});

test('Of a job that is deleted before its worker has closed its queue entry, the entry goes as well', async () => {
  const world = await apiWorld((await ownRedis()).url);
  const { parts, worker } = world;
  const { id } = await jobOf(await world.ask('POST', '/v1/jobs', SMALL));
  const claim = await worker.take();
  await parts.records.apply([{ move: 'cancel', id: id as JobId, lease: claim.token }]);
  expect((await world.ask('DELETE', `/v1/jobs/${id}`)).status).toBe(204);
  await parts.queues.of(claim.queue).fail(claim, 'canceled');
  const stop = deleteLeftovers(parts);
  onTestFinished(stop);
  await expect.poll(() => namesOf(world, [id]), { timeout: 60_000 }).toEqual([]);
});

test('A running API removes old ended jobs when Redis fills, also when it is full', {
  tags: ['long'],
}, async () => {
  const server = await ownRedis();
  const world = await apiWorld(server.url);
  const { parts } = world;
  const { redis, keys } = parts;
  const ids: JobId[] = [];
  for (let i = 0; i < 50; i++) {
    const { id } = await jobOf(await world.ask('POST', '/v1/jobs', LARGE));
    await world.ask('POST', `/v1/jobs/${id}/cancel`);
    ids.push(id as JobId);
  }
  await age(parts, ids, MINUTE_MS);
  const env = await installation(server.url, { LEHR_NAMESPACE: keys.prefix.slice(1, -1) });
  const api = startLehr('api', env);
  await api.logged('API is listening');
  await redis.config('SET', 'maxmemory', '1');
  await expect.poll(() => redis.exists(keys.record(ids[0])), { timeout: 60_000 }).toBe(0);
  await redis.config('SET', 'maxmemory', '0');
});

/** What a job is charged when its real cost is known, on a real Redis. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type LeaseToken, newLeaseToken, type TenantId } from '../../packages/shared/src/index.ts';
import { Repricer } from '../../packages/shared/src/queue/index.ts';
import type { JobRecord, NewJob } from '../../packages/shared/src/records/index.ts';
import { redisNow } from '../../packages/shared/src/redis/index.ts';
import { GROUP, queueWorld } from '../support/queue-world.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const TENANT = 'acme' as TenantId;
const FAILURE = { code: 'numeric-error', title: 'Bad numbers', detail: 'NaN', retryable: false };
const payer = { key: 'k1', budget_ms: 1000, weight: 2 };

async function pricedWorld() {
  const world = await queueWorld(server.url);
  const { redis, keys, records, worker } = world;
  const repricer = new Repricer(redis, keys);
  /** A running job that admission has charged `cost` to the key. */
  const start = async (cost: number, fields: Partial<NewJob> = {}): Promise<[JobRecord, LeaseToken]> => {
    const id = await world.submit({ cost, tenant: TENANT, payer, ...fields });
    const lease = newLeaseToken(worker);
    const [{ record }] = await records.apply([{ move: 'start', id, lease, fields: { worker } }]);
    if (!record) throw new Error('The job did not start.');
    return [record, lease];
  };
  const owes = async (ms: number): Promise<void> => {
    await redis.hset(keys.budget(payer.key), 'used', ms, 'at', await redisNow(redis));
  };
  const used = async () => Number(await redis.hget(keys.budget(payer.key), 'used'));
  const tag = async () => Number(await redis.zscore(keys.fairTags(GROUP, 'standard'), TENANT));
  return { ...world, repricer, start, owes, used, tag };
}

test('A job that costs more than its estimate is charged the difference once', async () => {
  const { repricer, records, start, owes, used, tag } = await pricedWorld();
  const [job, lease] = await start(100);
  await owes(100);
  expect(await repricer.reprice(job, lease, 5100)).toEqual({ code: 'ok' });
  // Up to 5 ms refill in 300 ms.
  expect(await used()).toBeGreaterThan(5050);
  expect(await used()).toBeLessThanOrEqual(5100);
  expect(await tag()).toBe(5000 / payer.weight);
  expect((await records.read(job.id))?.cost).toBe(5100);
  expect(await repricer.reprice(job, lease, 5100)).toEqual({ code: 'ok' });
  expect(await used()).toBeLessThanOrEqual(5100);
  expect(await tag()).toBe(5000 / payer.weight);
});

test('A job that costs less than its estimate gives the difference back', async () => {
  const { repricer, start, owes, used } = await pricedWorld();
  const [job, lease] = await start(5000);
  await owes(5000);
  expect(await repricer.reprice(job, lease, 400)).toEqual({ code: 'ok' });
  expect(await used()).toBeLessThanOrEqual(400);
  expect(await used()).toBeGreaterThan(300);
});

test('A job is refused when the other jobs of its key owe more than refills in a minute', async () => {
  const { repricer, records, start, owes, used } = await pricedWorld();
  const [first, firstLease] = await start(10);
  const [second, secondLease] = await start(10);
  await owes(20);
  expect((await repricer.reprice(first, firstLease, 360_000)).code).toBe('ok');
  const refused = await repricer.reprice(second, secondLease, 360_000);
  expect(refused.code).toBe('refused');
  const { owedMs } = refused as { owedMs: number };
  expect(owedMs).toBeGreaterThan(358_000);
  expect(owedMs).toBeLessThanOrEqual(359_000);
  expect(await used()).toBeLessThanOrEqual(360_010);
  expect((await records.read(second.id))?.cost).toBe(10);
});

test('A job is charged with its end whatever its key owes, and the debt keeps its next jobs out', async () => {
  const { repricer, store, records, start, owes, used, tag } = await pricedWorld();
  const [job, token] = await start(10);
  await owes(360_010);
  expect((await repricer.reprice(job, token, 5010)).code).toBe('refused');
  const lease = { jobId: job.id, queue: GROUP, token };
  const end = { move: 'fail', id: job.id, lease: token, fields: { error: FAILURE } } as const;
  const charge = { job, costMs: 5010 };
  expect(await store.end(lease, end, { charge })).toMatchObject({ code: 'ok' });
  expect(await store.end(lease, end, { charge })).toMatchObject({ code: 'same' });
  expect(await used()).toBeGreaterThan(364_000);
  expect(await used()).toBeLessThanOrEqual(365_010);
  expect(await tag()).toBe(5000 / payer.weight);
  expect((await records.read(job.id))?.cost).toBe(5010);
});

test('A job is charged with its end also while Redis is at its limit of memory', async () => {
  const { redis, start, store, records, used } = await pricedWorld();
  const [job, lease] = await start(10);
  const claim = { jobId: job.id, queue: GROUP, token: lease };
  await redis.config('SET', 'maxmemory', '1');
  const ending = store.end(
    claim,
    { move: 'fail', id: job.id, lease, fields: { error: FAILURE } },
    {
      charge: { job, costMs: 5010 },
    },
  );
  const outcome = await ending.finally(() => redis.config('SET', 'maxmemory', '0'));
  expect(outcome).toMatchObject({ code: 'ok', state: 'failed' });
  expect((await records.read(job.id))?.cost).toBe(5010);
  expect(await used()).toBeGreaterThan(4900);
});

test('A charge that Redis cannot make leaves the job at its price and does not keep it from its end', async () => {
  const { redis, keys, store, records, start } = await pricedWorld();
  const [job, token] = await start(10);
  await redis.set(keys.budget(payer.key), 'no hash');
  const end = { move: 'fail', id: job.id, lease: token, fields: { error: FAILURE } } as const;
  const outcome = await store.end({ jobId: job.id, queue: GROUP, token }, end, {
    charge: { job, costMs: 50 },
  });
  expect(outcome).toMatchObject({ code: 'ok', state: 'failed' });
  expect((await records.read(job.id))?.cost).toBe(10);
});

test('A job may cost more than its whole budget when its key owes less than refills in a minute', async () => {
  const { repricer, start, owes, used } = await pricedWorld();
  const [job, lease] = await start(10);
  await owes(1900);
  expect((await repricer.reprice(job, lease, 60_000)).code).toBe('ok');
  expect(await used()).toBeGreaterThan(61_000);
});

test('A job of a key without a budget counts in the share of its tenant only', async () => {
  const { repricer, redis, keys, start, tag } = await pricedWorld();
  const [job, lease] = await start(10, { payer: { ...payer, budget_ms: null } });
  expect((await repricer.reprice(job, lease, 60_010)).code).toBe('ok');
  expect(await tag()).toBe(60_000 / payer.weight);
  expect(await redis.exists(keys.budget(payer.key))).toBe(0);
});

test('An attempt that has lost its lease charges nothing', async () => {
  const { repricer, worker, start, owes, used } = await pricedWorld();
  const [job] = await start(10);
  await owes(10);
  expect(await repricer.reprice(job, newLeaseToken(worker), 60_000)).toEqual({ code: 'stale' });
  expect(await used()).toBe(10);
});

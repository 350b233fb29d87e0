/** What the records of many tenants take in memory is estimated with a bounded number of short calls. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { measureRecords } from '../../apps/api/src/jobs/space/record-space.ts';
import type { JobId, TenantId } from '../../packages/shared/src/index.ts';
import { freshKeys, startRedis, type TestRedis, testRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const JOB_BYTES = 1000;

async function stored(jobsOf: (tenant: number) => number, tenants: number) {
  const redis = testRedis(server.url);
  const keys = freshKeys();
  const pipeline = redis.pipeline();
  for (let i = 0; i < tenants; i++) {
    pipeline.sadd(keys.tenants, `t${i}`);
    for (let j = 0; j < jobsOf(i); j++) {
      const id = `job_${i}_${j}` as JobId;
      pipeline.zadd(keys.jobsOf(`t${i}` as TenantId), j, id);
      pipeline.hset(keys.record(id), 'input', 'x'.repeat(JOB_BYTES));
    }
  }
  await pipeline.exec();
  return { redis, keys };
}

test('Three thousand tenants are measured with a call per hundreds of them, each as large as its number of jobs', async () => {
  const { redis, keys } = await stored((i) => (i < 600 ? 4 : 1), 3_000);
  const calls = vi.spyOn(redis, 'sendCommand');
  const bytes = await measureRecords(redis, keys);
  expect(calls.mock.calls.length).toBeLessThan(100);
  expect(bytes.size).toBe(3_000);
  for (let i = 0; i < 3_000; i++) {
    const perJob = (bytes.get(`t${i}` as TenantId) ?? 0) / (i < 600 ? 4 : 1);
    expect(perJob).toBeGreaterThan(JOB_BYTES);
    expect(perJob).toBeLessThan(2 * JOB_BYTES);
  }
});

test('A tenant without jobs takes no memory and is forgotten', async () => {
  const { redis, keys } = await stored((i) => i, 2);
  const bytes = await measureRecords(redis, keys);
  expect(bytes.get('t0' as TenantId)).toBe(0);
  expect(bytes.get('t1' as TenantId)).toBeGreaterThan(JOB_BYTES);
  expect(await redis.smembers(keys.tenants)).toEqual(['t1']);
});

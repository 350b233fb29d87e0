/** Jobs with a time: they wait outside the queues, and enter them once. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type JobId, newJobId, type TenantId } from '../../packages/shared/src/index.ts';
import {
  Accepter,
  expireOverdue,
  type PricedJob,
  Releaser,
  requeueLost,
  WorkflowRunner,
} from '../../packages/shared/src/queue/index.ts';
import { redisNow } from '../../packages/shared/src/redis/index.ts';
import { GROUP, newJob, type QueueWorld, queueWorld } from '../support/queue-world.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const HOUR_MS = 3_600_000;

async function schedule(world: QueueWorld, fields: Partial<PricedJob> = {}): Promise<JobId> {
  const { deadline_at: _, ...job } = newJob();
  const accepter = new Accepter(world.redis, world.keys, world.queues, world.records);
  const accepted = await accepter.accept({ ...job, later: { inMs: HOUR_MS }, ...fields }, {});
  if (!accepted.stored) throw new Error(accepted.code);
  return accepted.stored.record.id;
}

const releaserOf = (world: QueueWorld): Releaser =>
  new Releaser({ ...world, workflows: new WorkflowRunner(world) });

test('A scheduled job is in no queue and has no load until it is released, and then waits like any other job', async () => {
  const world = await queueWorld(server.url);
  const { redis, keys, records } = world;
  const id = await schedule(world);
  expect(await records.read(id)).toMatchObject({ state: 'scheduled', rev: 1 });
  expect(await world.claim(GROUP, 1)).toEqual([]);
  expect(await redis.exists(keys.load(GROUP), keys.fair(GROUP))).toBe(0);

  expect(await releaserOf(world).release([id])).toEqual([id]);

  expect(await redis.hget(keys.load(GROUP), 'standard')).toBe('100');
  expect(await redis.zcard(keys.scheduledJobs)).toBe(0);
  const [claim] = await world.claim(GROUP, 2);
  expect(claim.jobId).toBe(id);
  const record = await records.read(id);
  expect(record).toMatchObject({ state: 'queued', rev: 2 });
  expect(record?.released_at).toBeGreaterThanOrEqual(record?.created_at ?? 0);
});

test('Processes that release the same jobs at the same time add each of them once', async () => {
  const world = await queueWorld(server.url);
  const ids = await Promise.all(Array.from({ length: 20 }, () => schedule(world)));
  const both = await Promise.all([releaserOf(world).release(ids), releaserOf(world).release(ids)]);
  expect(both.flat().sort()).toEqual([...ids].sort());
  const claims = await world.claim(GROUP, 40);
  expect(claims.map(({ jobId }) => jobId).sort()).toEqual([...ids].sort());
});

test('A released job takes its fair place as of then: before the second of the jobs that another tenant has waiting', async () => {
  const world = await queueWorld(server.url);
  const accepter = new Accepter(world.redis, world.keys, world.queues, world.records);
  const scheduled = await schedule(world);
  const { deadline_at: _, ...job } = newJob({ tenant: 'busy' as TenantId });
  const others = [newJobId(), newJobId(), newJobId()];
  for (const id of others) await accepter.accept({ ...job, id }, {});
  await releaserOf(world).release([scheduled]);
  const order = await world.redis.zrange(`${world.keys.prefix}:${GROUP}:prioritized`, '0', '-1');
  expect(order.filter((id) => id !== scheduled)).toEqual(others);
  expect(order.indexOf(scheduled)).toBeLessThan(2);
});

test('The search for lost jobs leaves a scheduled job alone, and puts it back into the list of times when it is missing there', async () => {
  const world = await queueWorld(server.url);
  const { redis, keys, queues, records } = world;
  const id = await schedule(world);
  const runAt = (await records.read(id))?.run_at;
  const muchLater = (await redisNow(redis)) + HOUR_MS;
  expect(await requeueLost(redis, keys, queues, records, muchLater)).toEqual([]);
  await redis.del(keys.scheduledJobs);
  expect(await requeueLost(redis, keys, queues, records, muchLater)).toEqual([]);
  expect(await redis.zrange(keys.scheduledJobs, '0', '-1', 'WITHSCORES')).toEqual([id, String(runAt)]);
  expect((await records.read(id))?.state).toBe('scheduled');
});

test('The deadline of a scheduled job counts from its time, and a job that is released after it expires', async () => {
  const world = await queueWorld(server.url);
  const { redis, keys, queues, records } = world;
  const [early, late] = [
    await schedule(world, { deadlineMs: 1000 }),
    await schedule(world, { id: newJobId(), deadlineMs: 1000 }),
  ];
  const record = await records.read(early);
  expect((record?.deadline_at ?? 0) - (record?.run_at ?? 0)).toBe(1000);
  // As after an outage that lasted until behind the deadline.
  await redis.hset(keys.record(early), 'deadline_at', '1');
  expect(await releaserOf(world).release([early])).toEqual([]);
  expect((await records.read(early))?.state).toBe('expired');
  const overdue = await expireOverdue(redis, keys, queues, records, (await redisNow(redis)) + 2 * HOUR_MS);
  expect(overdue.map(({ id }) => id)).toEqual([late]);
  expect(await redis.zcard(keys.scheduledJobs)).toBe(0);
  expect(await world.claim(GROUP, 1)).toEqual([]);
});

test('A canceled job is not released, and its events are those that happened', async () => {
  const world = await queueWorld(server.url);
  const { redis, keys, records } = world;
  const [first, second] = [await schedule(world), await schedule(world, { id: newJobId() })];
  await releaserOf(world).release([second]);
  await records.apply([first, second].map((id) => ({ move: 'cancel' as const, id })));
  await redis.zadd(keys.scheduledJobs, 0, first);
  expect(await releaserOf(world).release([first])).toEqual([]);
  expect(await redis.zcard(keys.scheduledJobs)).toBe(0);
  const types = async (id: JobId) => (await records.events(id, 0)).map(({ type }) => type);
  expect(await types(first)).toEqual(['job.scheduled', 'job.canceled']);
  expect(await types(second)).toEqual(['job.scheduled', 'job.queued', 'job.canceled']);
});

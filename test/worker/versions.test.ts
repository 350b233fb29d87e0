/** Workers and APIs of two versions on one Redis: what one cannot read does not disturb what it serves. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { requeueLost } from '../../packages/shared/src/queue/index.ts';
import { redisNow } from '../../packages/shared/src/redis/index.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { workerWorld } from '../support/worker-world.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

test('A worker serves the jobs beside one of a newer version and a damaged one; the newer one waits and then runs', async () => {
  const world = await workerWorld(server.url);
  const { redis, keys, queues, records } = world;
  const [newer, damaged, ...others] = await Promise.all(
    Array.from({ length: 8 }, (_, seed) => world.draw({ seed })),
  );
  const input = (await redis.hget(keys.record(newer), 'input')) ?? '';
  await redis.hset(keys.record(newer), 'v', 2, 'input', '<input/>');
  await redis.hset(keys.record(damaged), 'input', '<input/>');
  const worker = await world.simulated();
  for (const id of others) expect(await world.reached(id)).toMatchObject({ state: 'succeeded', attempt: 1 });
  await worker.line(({ msg, job }) => msg.startsWith('set a job aside') && job === newer);
  await expect
    .poll(() => redis.hmget(keys.record(newer), 'state', 'attempt', 'lease'))
    .toEqual(['queued', '0', null]);
  await expect.poll(() => redis.hget(keys.record(damaged), 'state')).toBe('failed');
  expect((await redis.hkeys(keys.unreadable)).sort()).toEqual([newer, damaged].sort());

  // A process of the version that can read it.
  await redis.hset(keys.record(newer), 'input', input);
  const later = (await redisNow(redis)) + 60_000;
  await expect.poll(() => requeueLost(redis, keys, queues, records, later)).toEqual([newer]);
  expect(await world.reached(newer)).toMatchObject({ state: 'succeeded', attempt: 1 });
});

/** A running worker and a group that is retired meanwhile. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { retireIdle } from '../support/retired-groups.ts';
import { workerWorld } from '../support/worker-world.ts';

const GROUP = 'diffusion.tiny@1.64x64';

let redis: TestRedis;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

test('An idle worker runs the first job of a group that was retired while it slept', async () => {
  const world = await workerWorld(redis.url);
  await world.simulated();
  await world.reached(await world.draw());
  // Until the worker has closed the queue entry of the first job.
  await expect.poll(() => retireIdle(world, [GROUP]), { timeout: 30_000 }).toEqual([GROUP]);
  expect(await world.reached(await world.draw({ seed: 2 }))).toMatchObject({
    state: 'succeeded',
    attempt: 1,
  });
});

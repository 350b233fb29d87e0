/** Workers that are idle while jobs wait. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { workerWorld } from '../support/worker-world.ts';

let redis: TestRedis;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

test('An idle worker that claims no job although one waits for it exits, and another worker runs the job', {
  tags: ['long'],
}, async () => {
  const world = await workerWorld(redis.url);
  const first = await world.simulated();
  await world.reached(await world.draw());
  await first.stop();
  const stuck = await world.simulated({ neverWakes: true, times: { maxIdleMs: 1200 } });
  await stuck.logged('sleeps and never wakes');
  const id = await world.draw({ seed: 2 });
  const line = await stuck.line(({ msg }) => msg.startsWith('this worker is idle'));
  expect(line).toMatchObject({ waiting: 1, queue: 'diffusion.tiny@1.64x64' });
  expect(line.waitedMs).toBeGreaterThanOrEqual(1200);
  expect(await stuck.exited()).toBe(1);
  expect(await world.records.read(id)).toMatchObject({ state: 'queued', attempt: 0 });
  await world.simulated();
  expect(await world.reached(id)).toMatchObject({ state: 'succeeded', attempt: 1 });
});

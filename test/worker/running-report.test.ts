/** What a worker reports of its samples while they are watched. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readFleet, readRunning, type WorkerId } from '../../packages/shared/src/index.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { SLOW_MACHINE } from '../support/timeouts.ts';
import { workerWorld } from '../support/worker-world.ts';

let redis: TestRedis;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

test('A worker reports its samples and the rows of its calls while they are watched, and none before', async () => {
  const world = await workerWorld(redis.url);
  await world.simulated({ times: { reportEveryMs: 50 } });
  const ids = [await world.draw({ steps: 400 }), await world.draw({ steps: 500 })];
  for (const id of ids) await world.reached(id, 'running');
  const fleet = async () => readFleet(world.redis, world.keys);
  await expect.poll(async () => (await fleet())[0]?.lanes[0]?.samples, SLOW_MACHINE).toBe(2);
  const [{ id }] = await fleet();
  expect(await world.redis.exists(world.keys.runningOn(id))).toBe(0);

  const read = async () => (await readRunning(world.redis, world.keys, [id as WorkerId]))[0];
  await expect
    .poll(async () => (await read())?.samples.map(({ job }) => job).sort(), SLOW_MACHINE)
    .toEqual(ids.sort());
  const step = async () => (await read())?.samples.find(({ job }) => job === ids[1])?.step ?? 0;
  const first = await step();
  await expect.poll(step, SLOW_MACHINE).toBeGreaterThan(first);
  await expect.poll(async () => (await read())?.calls[0]?.rows_per_call, SLOW_MACHINE).toBeGreaterThan(1);
  const report = await read();
  expect(report?.samples.map(({ steps }) => steps).sort()).toEqual([400, 500]);
  // Whoever watches again after a pause must not see the samples of before.
  expect(await world.redis.pttl(world.keys.runningOn(id))).toBeLessThanOrEqual(3_000);
  for (const sample of report?.samples ?? []) expect(sample.id).not.toContain('job_');
});

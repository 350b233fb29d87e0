import { afterAll, beforeAll, expect, test } from 'vitest';
import { followJob, type JobId } from '../../packages/shared/src/index.ts';
import { apiWorld } from '../support/api-world.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { type WorkerWorld, workerWorld } from '../support/worker-world.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

/** About six seconds for 300 steps. */
const SLOW = { stepBaseMs: 20, stepPerRowMs: 0.1, pictureMs: 1, textMs: 1 };

const progressTimes = async (world: WorkerWorld, id: JobId): Promise<number[]> =>
  (await world.records.events(id, 0)).filter(({ type }) => type === 'job.progress').map(({ at }) => at);

test('Progress of a followed job is written often, and that of another job at most every five seconds', {
  tags: ['long'],
}, async () => {
  const world = await workerWorld(server.url);
  await world.simulated({ latency: SLOW });
  const [followed, alone] = await Promise.all([world.draw({ steps: 600 }), world.draw({ steps: 600 })]);
  await world.reached(followed, 'running');
  await followJob(world.redis, world.keys, followed, false);
  const refresh = setInterval(() => void followJob(world.redis, world.keys, followed, false), 2000);
  await Promise.all([world.reached(followed), world.reached(alone)]).finally(() => clearInterval(refresh));
  const record = await world.records.read(alone);
  if (record?.state !== 'succeeded') throw new Error(JSON.stringify(record));
  const seldom = await progressTimes(world, alone);
  const runMs = record.finished_at - (record.started_at ?? 0);
  expect(seldom.length).toBeLessThanOrEqual(runMs / 5000);
  expect(seldom.length).toBeGreaterThan(0);
  expect((await progressTimes(world, followed)).length).toBeGreaterThan(4 * seldom.length);
});

test('A worker notices a cancel of a job that no caller follows, although its announcement was lost', async () => {
  const world = await workerWorld(server.url);
  await world.simulated({ latency: SLOW, times: { unfollowedProgressEveryMs: 600_000 } });
  const id = await world.draw({ steps: 900 });
  await world.reached(id, 'running');
  // As transition.lua does, without the message.
  await world.redis.hset(world.keys.record(id), 'cancel_requested', '1');
  expect(await world.reached(id)).toMatchObject({ state: 'canceled' });
});

test('A caller that reads a running job follows it, and one that reads a finished job does not', async () => {
  const world = await apiWorld(server.url);
  const { redis, keys } = world.parts;
  const { id } = await world.post();
  const claim = await world.worker.take();
  await redis.del(keys.followed(claim.jobId));
  await world.get(id);
  await expect.poll(() => redis.exists(keys.followed(claim.jobId))).toBe(1);
  expect(await redis.exists(keys.watched(claim.jobId))).toBe(0);
  await world.worker.succeed(claim);
  await redis.del(keys.followed(claim.jobId));
  await world.get(id);
  await redis.ping();
  expect(await redis.exists(keys.followed(claim.jobId))).toBe(0);
});

/** How the end of a job reaches the process that holds the request for it. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { EndedJobs } from '../../apps/api/src/follow/wait.ts';
import { DEFAULT_TENANT, type JobId } from '../../packages/shared/src/index.ts';
import type { JobRecord } from '../../packages/shared/src/records/index.ts';
import { type ApiWorld, apiWorld, jobOf } from '../support/api-world.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const PICTURE = { type: 'text-to-image', input: { prompt: 'a red circle' } };

/** Its channel for ends is open. */
async function heldWorld(): Promise<ApiWorld> {
  const world = await apiWorld(server.url);
  await expect.poll(() => world.parts.waits.holder).toBeDefined();
  return world;
}

async function claimHeld(world: ApiWorld) {
  await expect.poll(() => world.parts.waits.size).toBe(1);
  return world.worker.take();
}

test('A held post is answered with the ended job, whose record no longer names the process that held it', async () => {
  const world = await heldWorld();
  const { records, waits } = world.parts;
  const answer = world.ask('POST', '/v1/jobs?wait=30', PICTURE);
  const claim = await claimHeld(world);
  expect((await records.read(claim.jobId))?.held_by).toBe(waits.holder);
  await world.worker.succeed(claim);
  expect(await jobOf(await answer)).toMatchObject({ id: claim.jobId, status: 'succeeded' });
  expect((await records.read(claim.jobId))?.held_by).toBeUndefined();
});

test('A post that does not wait names no process', async () => {
  const world = await heldWorld();
  const { id } = await world.post();
  expect((await world.parts.records.read(id as JobId))?.held_by).toBeUndefined();
});

test('A held post is also answered when the message with the end of its job is lost', async () => {
  const world = await heldWorld();
  const { redis, keys } = world.parts;
  const answer = world.ask('POST', '/v1/jobs?wait=30', PICTURE);
  const claim = await claimHeld(world);
  // Without it, no message is sent.
  await redis.hdel(keys.record(claim.jobId), 'held_by');
  await world.worker.succeed(claim);
  expect(await jobOf(await answer)).toMatchObject({ status: 'succeeded' });
});

test('The end of a job with a long output is sent without its record, and one that comes early is kept', async () => {
  const world = await apiWorld(server.url);
  const { redis, keys, records } = world.parts;
  const ended = new EndedJobs(world.channels, keys);
  await expect.poll(() => ended.holder).toBeDefined();
  const end = async (output: object): Promise<JobRecord | undefined> => {
    const { id } = await world.post();
    const claim = await world.worker.take();
    await redis.hset(keys.record(id as JobId), 'held_by', ended.holder ?? '');
    const metrics = { queue_ms: 1, run_ms: 1, total_ms: 2, batch_size: 1, worker: 'w' };
    const timings = { queued: 1, tokenize: 0, wait: 0, run: 0, store: 0 };
    const fields = { output, metrics: { ...metrics, timings } };
    await records.apply([{ move: 'succeed', id: claim.jobId, lease: claim.token, fields }]);
    // The message of the job before is there when that of a later one is.
    return new Promise((resolve) => void ended.listen(id as JobId, resolve));
  };
  expect(await end({ text: { tokens: 1 } })).toMatchObject({ state: 'succeeded', tenant: DEFAULT_TENANT });
  expect(
    await end({ text: { tokens: 1, result: { labels: [[{ label: 'x'.repeat(70_000), score: 1 }]] } } }),
  ).toBe(undefined);
});

/** Shadows over the real API, Redis and store: jobs of the stable version that the new one runs a second time for comparison. */
import sharp from 'sharp';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { compareEnded } from '../../apps/api/src/jobs/compare-shadows.ts';
import { postShadow, SHADOW_TENANT } from '../../apps/api/src/jobs/post-shadow.ts';
import { type Job, type JobId, LehrError, toObjectKey } from '../../packages/shared/src/index.ts';
import type { Claim } from '../../packages/shared/src/queue/index.ts';
import { problemOf } from '../support/api-world.ts';
import { keyHolder } from '../support/key-holder.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { postWith, QUEUE, type RolloutWorld, rolloutWorld } from '../support/rollout-world.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const ALL = { version: '2', shadow: 100 };

/** Ends a claimed job with a picture of one color, after so much device time. */
async function draw(
  { parts, worker }: RolloutWorld,
  claim: Claim,
  red: number,
  deviceMs: number,
): Promise<string> {
  const size = { width: 8, height: 8 };
  const color = { r: red, g: 10, b: 10 };
  const file = await sharp({ create: { ...size, channels: 3, background: color } })
    .png()
    .toBuffer();
  const { tenant } = (await parts.records.read(claim.jobId))!;
  const key = `out/${tenant}/${claim.jobId}/0.png`;
  const { bytes, sha256 } = await parts.store.put(toObjectKey(key), file, { contentType: 'image/png' });
  const image = { key, content_type: 'image/png', ...size, bytes, sha256, seed: 1 };
  const timings = { queued: 1, admitted: 1, text: 0, denoise: 1, decode: 0, encode: 1, upload: 1 };
  const times = { queue_ms: 1, run_ms: 3, total_ms: 4, batch_size: 1, timings, device_ms: deviceMs };
  await worker.endWith(claim, { output: { images: [image] }, metrics: { ...times, worker: worker.id } });
  return key;
}

/** The job of a shadow is posted after the answer. */
async function takeShadow({ parts, worker }: RolloutWorld): Promise<Claim> {
  await expect.poll(() => parts.redis.zcard(parts.keys.shadows)).toBeGreaterThan(0);
  await expect.poll(() => parts.redis.zcard(parts.keys.liveOf(SHADOW_TENANT))).toBeGreaterThan(0);
  return worker.take(QUEUE.canary);
}

const listed = async (ask: RolloutWorld['ask']): Promise<string[]> => {
  const { data } = (await (await ask('GET', '/v1/jobs')).json()) as { data: Job[] };
  return data.map(({ id }) => id);
};

test('A shadow draws the same picture on the new version, is compared with its job, and is deleted with its picture', async () => {
  const world = await rolloutWorld(server.url);
  const { parts } = world;
  const deployed = await world.deploy(ALL);
  expect(deployed).toMatchObject({ weight: 0, shadow: { share: 100, compared: 0, difference: null } });
  const job = await postWith(world.ask, { webhook: { url: 'https://example.com/hook' } });
  expect(job.model).toBe('sd@1');
  const shadow = await takeShadow(world);
  const record = await parts.records.read(shadow.jobId);
  const original = await parts.records.read(job.id as JobId);
  expect(record).toMatchObject({
    tenant: SHADOW_TENANT,
    model: 'sd@2',
    priority: 'bulk',
    input: original?.input,
  });
  expect([record?.webhook, record?.hook_events, record?.payer]).toEqual([undefined, undefined, undefined]);
  await draw(world, await world.worker.take(QUEUE.stable), 100, 50);
  const key = await draw(world, shadow, 106, 100);
  await compareEnded(parts);
  const { shadow: found, outcomes } = await world.rollout();
  expect(found).toMatchObject({ jobs: 1, failed: 0, compared: 1, equal: 0, difference: 2, time_ratio: 2 });
  expect(outcomes).toMatchObject({ stable: { jobs: 1 }, canary: { jobs: 0 } });
  expect(await parts.records.read(shadow.jobId)).toBeUndefined();
  expect(await parts.store.get(toObjectKey(key))).toBeUndefined();
  expect(await parts.redis.zcard(parts.keys.shadows)).toBe(0);
  expect((await world.get(job.id)).status).toBe('succeeded');
  const metrics = await (await world.ask('GET', '/metrics')).text();
  expect(metrics).toMatch(/^lehr_rollout_shadow_jobs\{model="sd",version="2",outcome="succeeded"\} 1$/m);
  expect(metrics).toMatch(/^lehr_rollout_shadow_difference\{model="sd",version="2"\} 2$/m);
});

test('A tenant neither sees a shadow nor has less room or budget for it', async () => {
  const world = await rolloutWorld(server.url);
  await world.deploy(ALL);
  const { ask } = await keyHolder(world, 'acme', { limits: { max_jobs: 2 } });
  const first = await postWith(ask);
  const shadow = await takeShadow(world);
  expect(await listed(ask)).toEqual([first.id]);
  expect((await problemOf(await ask('GET', `/v1/jobs/${shadow.jobId}`))).status).toBe(404);
  await postWith(ask);
  expect(
    (await ask('POST', '/v1/jobs', { type: 'text-to-image', model: 'sd', input: { prompt: 'x' } })).status,
  ).toBe(429);
});

test('Shadows are dropped when the queue is loaded, and a shadow that cannot start in time expires', async () => {
  const world = await rolloutWorld(server.url);
  await world.deploy(ALL);
  for (let i = 0; i < 30; i += 1)
    await postWith(world.ask, { model: 'sd@2', input: { prompt: 'x', steps: 50 } });
  await postWith(world.ask);
  await expect.poll(async () => (await world.rollout()).shadow.dropped).toBe(1);
  expect(await world.parts.redis.zcard(world.parts.keys.liveOf(SHADOW_TENANT))).toBe(0);
});

test('A shadow for which Redis has no memory is counted as dropped', async () => {
  const world = await rolloutWorld(server.url);
  const { parts } = world;
  await world.deploy(ALL);
  const { id } = await postWith(world.ask);
  await takeShadow(world);
  const record = await parts.records.read(id as JobId);
  if (!record) throw new Error('the job has no record');
  const check = async () => {
    throw new LehrError('overloaded', 'The memory is full.');
  };
  await postShadow({ ...parts, recordRoom: { check } }, record);
  expect((await world.rollout()).shadow.dropped).toBe(1);
});

test('A job that names its version has no shadow, nor has any job once the rollout is paused or gives callers the new version', async () => {
  const world = await rolloutWorld(server.url);
  const { redis, keys } = world.parts;
  await world.deploy(ALL);
  await postWith(world.ask, { model: 'sd@1' });
  const changed = await world.deploy({ version: '2', weight: 50, sticky_by: 'job' });
  expect(changed).toMatchObject({ weight: 50, shadow: { share: 0 } });
  for (let i = 0; i < 4; i += 1) await postWith(world.ask);
  await world.deploy({ version: '2', weight: 0, shadow: 100 });
  await world.change('paused');
  await postWith(world.ask);
  // A shadow is posted within the time that this answer takes twice.
  for (let i = 0; i < 2; i += 1) await world.rollout();
  expect(await redis.exists(keys.shadows)).toBe(0);
});

test('The steps of a plan give the version to callers and end its shadows', async () => {
  const world = await rolloutWorld(server.url);
  await world.deploy(ALL);
  expect(await world.deploy({ version: '2', reason: 'again' })).toMatchObject({
    weight: 0,
    shadow: { share: 100 },
  });
  const planned = await world.deploy({ version: '2', promote_after: 20, steps: [10, 50] });
  expect(planned).toMatchObject({ weight: 10, shadow: { share: 0 } });
});

test('A shadow whose job is gone, failed or takes too long is deleted without a comparison', async () => {
  const world = await rolloutWorld(server.url);
  const { parts } = world;
  await world.deploy(ALL);
  await postWith(world.ask);
  const shadow = await takeShadow(world);
  const claim = await world.worker.take(QUEUE.stable);
  await world.worker.fail(claim, { code: 'engine-failed', title: '', detail: '', retryable: false });
  await compareEnded(parts);
  expect(await parts.redis.zcard(parts.keys.shadows)).toBe(1);
  await draw(world, shadow, 1, 1);
  await compareEnded(parts);
  expect(await parts.records.read(shadow.jobId)).toBeUndefined();
  expect((await world.rollout()).shadow).toMatchObject({ jobs: 1, compared: 0, difference: null });
});

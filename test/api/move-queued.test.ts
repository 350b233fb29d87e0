/** Jobs that wait for the version that lost, moved at the end of a rollout, over the real API and Redis. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { compareEnded } from '../../apps/api/src/jobs/compare-shadows.ts';
import { type JobId, newLeaseToken, type Rollout, RolloutSchema } from '../../packages/shared/src/index.ts';
import { requeueLost } from '../../packages/shared/src/queue/index.ts';
import { redisNow } from '../../packages/shared/src/redis/index.ts';
import { problemOf } from '../support/api-world.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { postWith, QUEUE, type RolloutWorld, rolloutWorld, succeedAfter } from '../support/rollout-world.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const HALF = { version: '2', weight: 0.001, sticky_by: 'job' };
const LONG = { input: { prompt: 'a red circle', steps: 50 } };

async function end(world: RolloutWorld, state: string): Promise<Rollout> {
  const response = await world.ask('PATCH', '/v1/rollouts/sd', { state, move_queued: true });
  return RolloutSchema.strict().parse(await response.json());
}

const loadOf = async ({ parts }: RolloutWorld, queue: string): Promise<number> =>
  Number((await parts.redis.hget(parts.keys.load(queue), 'standard')) ?? 0);

test('Jobs that wait for the stable version run on the promoted one, in their order, and say where they come from', async () => {
  const world = await rolloutWorld(server.url);
  await world.deploy(HALF);
  const posted: string[] = [];
  for (let i = 0; i < 3; i += 1) posted.push((await postWith(world.ask, LONG)).id);
  const load = await loadOf(world, QUEUE.stable);
  const named = await postWith(world.ask, { model: 'sd@1', ...LONG });
  const running = await world.worker.take(QUEUE.stable);
  expect(running.jobId).toBe(posted[0]);
  expect((await end(world, 'promoted')).moved).toEqual({ jobs: 2, more: false });
  expect(await loadOf(world, QUEUE.canary)).toBeCloseTo((load * 2) / 3);
  expect(await world.get(named.id)).toMatchObject({ model: 'sd@1', status: 'queued' });
  expect(await world.get(named.id)).not.toHaveProperty('moved_from');
  expect(await world.get(running.jobId)).toMatchObject({ model: 'sd@1', status: 'running' });
  for (const id of posted.slice(1)) {
    expect(await world.get(id)).toMatchObject({ model: 'sd@2', moved_from: 'sd@1', status: 'queued' });
    const claim = await world.worker.take(QUEUE.canary);
    expect(claim.jobId).toBe(id);
    await succeedAfter(world, claim, 5);
    expect(await world.get(id)).toMatchObject({ status: 'succeeded', attempt: 1 });
  }
  expect(await loadOf(world, QUEUE.canary)).toBeCloseTo(0);
  expect((await world.rollout()).outcomes).toMatchObject({ stable: { jobs: 0 }, canary: { jobs: 2 } });
  expect((await world.worker.take(QUEUE.stable)).jobId).toBe(named.id);
  const audit = await world.ask('GET', '/v1/audit?action=rollout.moved-jobs');
  expect(((await audit.json()) as { data: object[] }).data).toMatchObject([
    { actor: 'root', target: 'sd', changes: { from: '1', to: '2' } },
  ]);
  expect((await end(world, 'promoted')).moved).toEqual({ jobs: 0, more: false });
});

test('A promotion that is rolled back moves the jobs back, also those that were moved before', async () => {
  const world = await rolloutWorld(server.url);
  await world.deploy(HALF);
  const { id } = await postWith(world.ask, LONG);
  await end(world, 'promoted');
  expect((await end(world, 'rolled-back')).moved).toEqual({ jobs: 1, more: false });
  expect(await world.get(id)).toMatchObject({ model: 'sd@1', moved_from: 'sd@2' });
  expect((await world.worker.take(QUEUE.stable)).jobId).toBe(id);
});

test('A job whose move was cut off by a crash is added to its new queue by the search for lost jobs', async () => {
  const world = await rolloutWorld(server.url);
  const { redis, keys, queues, records } = world.parts;
  await world.deploy(HALF);
  const { id } = await postWith(world.ask, LONG);
  const record = await records.read(id as JobId);
  const [rollout] = String(record?.rollout).split(' ');
  const fields = { queue: QUEUE.canary, model: 'sd@2', rollout: `${rollout} canary 1` };
  const move = { id: id as JobId, from: QUEUE.stable, rollout, weight: 1, fields };
  // The process dies after this step.
  expect((await records.reassign([move]))[0].code).toBe('ok');
  expect(await redis.exists(queues.of(QUEUE.stable).jobKey(id as JobId))).toBe(0);
  expect((await records.reassign([move]))[0].code).toBe('stale');
  const later = (await redisNow(redis)) + 60_000;
  expect(await requeueLost(redis, keys, queues, records, later)).toEqual([id]);
  expect(await requeueLost(redis, keys, queues, records, later)).toEqual([]);
  expect((await world.worker.take(QUEUE.canary)).jobId).toBe(id);
});

test('A job that is canceled or claimed while it is to be moved is not moved, and a second request moves none twice', async () => {
  const world = await rolloutWorld(server.url);
  await world.deploy(HALF);
  const posted: string[] = [];
  for (let i = 0; i < 20; i += 1) posted.push((await postWith(world.ask, LONG)).id);
  const taken = world.worker.take(QUEUE.stable);
  const canceled = world.ask('POST', `/v1/jobs/${posted[10]}/cancel`);
  const ends = await Promise.all([end(world, 'promoted'), end(world, 'promoted')]);
  const claim = await taken;
  await canceled;
  const jobs = await Promise.all(posted.map((id) => world.get(id)));
  const moved = jobs.filter(({ moved_from }) => moved_from !== undefined);
  expect(moved.length).toBe(ends.reduce((sum, each) => sum + (each.moved?.jobs ?? 0), 0));
  expect(moved.length).toBeGreaterThanOrEqual(18);
  expect(jobs[10].status).toBe('canceled');
  expect(await world.get(claim.jobId)).toMatchObject({ model: 'sd@1', status: 'running' });
  const waiting = await world.parts.redis.zcard(world.parts.queues.of(QUEUE.canary).prioritizedKey);
  expect(waiting).toBeGreaterThanOrEqual(18);
  expect(waiting).toBeLessThanOrEqual(19);
});

test('A job that a worker has claimed and not started yet stays with its version', async () => {
  const world = await rolloutWorld(server.url);
  await world.deploy(HALF);
  const { id } = await postWith(world.ask, LONG);
  const claim = await world.parts.queues.of(QUEUE.stable).claim(newLeaseToken(world.worker.id));
  expect(claim?.jobId).toBe(id);
  const { redis, keys, records } = world.parts;
  const rollout = (await world.rollout()).id;
  const fields = { queue: QUEUE.canary, model: 'sd@2', rollout: `${rollout} canary 1` };
  const [{ code }] = await records.reassign([
    { id: id as JobId, from: QUEUE.stable, rollout, weight: 1, fields },
  ]);
  expect(code).toBe('stale');
  expect((await end(world, 'promoted')).moved).toEqual({ jobs: 0, more: false });
  expect(await world.get(id)).toMatchObject({ model: 'sd@1', status: 'queued' });
  expect(await redis.hget(keys.load(QUEUE.canary), 'standard')).toBeNull();
});

test('Jobs are moved only at the end of a rollout, and only to a version that a live worker serves', async () => {
  const world = await rolloutWorld(server.url);
  await world.deploy(HALF);
  const paused = await world.ask('PATCH', '/v1/rollouts/sd', { state: 'paused', move_queued: true });
  expect((await problemOf(paused)).detail).toContain('move_queued needs the state promoted or rolled-back');
  await world.serve('2');
  const refused = await world.ask('PATCH', '/v1/rollouts/sd', { state: 'rolled-back', move_queued: true });
  expect((await problemOf(refused)).detail).toContain('No live worker serves sd@1');
  expect((await world.rollout()).state).toBe('running');
});

test('A job that was moved to the version of its shadow is not compared with it', async () => {
  const world = await rolloutWorld(server.url);
  await world.deploy({ version: '2', shadow: 100 });
  await postWith(world.ask);
  await expect.poll(() => world.parts.redis.zcard(world.parts.keys.shadows)).toBe(1);
  await expect
    .poll(() => world.parts.redis.zcard(world.parts.queues.of(QUEUE.canary).prioritizedKey))
    .toBe(1);
  expect((await end(world, 'promoted')).moved?.jobs).toBe(1);
  for (let i = 0; i < 2; i += 1) await succeedAfter(world, await world.worker.take(QUEUE.canary), 5);
  await compareEnded(world.parts);
  expect((await world.rollout()).shadow).toMatchObject({ jobs: 1, compared: 0, time_ratio: null });
});

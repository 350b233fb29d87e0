/** An API beside workers and APIs of another version, on one Redis. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newWorkerId } from '../../packages/shared/src/index.ts';
import { type ApiWorld, apiWorld, problemOf } from '../support/api-world.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { type RolloutWorld, rolloutWorld } from '../support/rollout-world.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

async function reportAs({ parts: { redis, keys } }: ApiWorld, text: string): Promise<void> {
  const id = newWorkerId('other');
  await redis.set(keys.worker(id), text, 'PX', 10_000);
  await redis.sadd(keys.workers, id);
}

test('Jobs are accepted and queues are listed beside workers that report what this version does not know', async () => {
  const world = await apiWorld(server.url);
  await world.worker.report();
  const status = { id: 'w', started_at: 0, draining: false, lanes: [], models: [] };
  await reportAs(world, JSON.stringify({ ...status, v: 2, tasks: ['video'] }));
  await reportAs(world, JSON.stringify({ v: 3 }));
  await reportAs(world, 'not JSON');
  expect((await world.post()).status).toBe('queued');
  const queues = await (await world.ask('GET', '/v1/queues')).json();
  expect(queues).toMatchObject({ data: [{ waiting: 1, workers: 1 }] });
  await expect.poll(async () => (await world.ask('GET', '/metrics')).text()).toMatch(/^lehr_unreadable 2$/m);
});

test('A job of a newer version is answered 503 and left out of the list; the other jobs are answered', async () => {
  const world = await apiWorld(server.url);
  const { redis, keys } = world.parts;
  const [newer, other] = [await world.post(), await world.post()];
  await redis.hset(keys.record(newer.id as never), 'v', 2, 'input', '<input/>');
  const answer = await world.ask('GET', `/v1/jobs/${newer.id}`);
  expect(answer.status).toBe(503);
  expect(await problemOf(answer)).toMatchObject({ type: 'urn:lehr:problem:unavailable' });
  expect(await world.get(other.id)).toMatchObject({ id: other.id, status: 'queued' });
  const { data } = (await (await world.ask('GET', '/v1/jobs')).json()) as { data: { id: string }[] };
  expect(data.map(({ id }) => id)).toEqual([other.id]);
});

/** Changes the rollout as an API of the first version with rollouts does: it stores the fields that it knows and no others. */
async function changeAsOlderVersion({ parts }: RolloutWorld, changes: object): Promise<void> {
  const { redis, keys } = parts;
  const stored = JSON.parse((await redis.hget(keys.rollouts, 'sd')) ?? '{}');
  const { v, id, model, rev, stable, canary, weight, sticky_by, state } = stored;
  const { created_at, changed_at, changed_by, reason } = stored;
  const known = { v, id, model, stable, canary, weight, sticky_by, state };
  const text = { ...known, created_at, changed_at, changed_by, reason, ...changes, rev: rev + 1 };
  await redis.hset(keys.rollouts, 'sd', JSON.stringify(text));
}

test('What an API of an older version does not know of a rollout is kept when it changes it, and its jobs are a new stage', async () => {
  const world = await rolloutWorld(server.url);
  const plan = { auto_rollback: false, promote_after: 50, steps: [10, 20] };
  await world.deploy({ version: '2', weight: 10, ...plan });
  await changeAsOlderVersion(world, { reason: 'renamed' });
  expect(await world.rollout()).toMatchObject({ reason: 'renamed', weight: 10, analysis: plan });
  expect((await world.parts.rollouts.list()).get('sd')?.stage).toBe(1);
  await changeAsOlderVersion(world, { weight: 15 });
  expect(await world.rollout()).toMatchObject({ weight: 15, analysis: plan });
  expect((await world.parts.rollouts.list()).get('sd')?.stage).toBe(2);
  const changed = await world.deploy({ version: '2', reason: 'again' });
  expect(changed).toMatchObject({ weight: 15, analysis: plan });
  expect((await world.parts.rollouts.list()).get('sd')?.stage).toBe(2);
});

test('Nothing of an earlier rollout is in one that an API of an older version started', async () => {
  const world = await rolloutWorld(server.url);
  await world.deploy({ version: '2', weight: 10, promote_after: 50 });
  await changeAsOlderVersion(world, { id: 'ro_other', weight: 30 });
  expect((await world.rollout()).analysis).toMatchObject({ auto_rollback: false, promote_after: null });
});

test('A field of a rollout that only a newer version knows is kept when this version changes the rollout', async () => {
  const world = await rolloutWorld(server.url);
  await world.deploy({ version: '2', weight: 10 });
  const { redis, keys } = world.parts;
  const stored = JSON.parse((await redis.hget(keys.rollouts, 'sd')) ?? '{}');
  await redis.hset(keys.rollouts, 'sd', JSON.stringify({ ...stored, mirrored: [1] }));
  await world.deploy({ version: '2', weight: 20 });
  expect(JSON.parse((await redis.hget(keys.rollouts, 'sd')) ?? '{}')).toMatchObject({
    weight: 20,
    mirrored: [1],
  });
});

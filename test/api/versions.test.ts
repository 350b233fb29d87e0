/** An API beside workers and APIs of another version, on one Redis. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newWorkerId } from '../../packages/shared/src/index.ts';
import { type ApiWorld, apiWorld, problemOf } from '../support/api-world.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

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
  const status = { id: 'w', started_at: 0, draining: false, unavailable: [], jobs: 0, lanes: [], models: [] };
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

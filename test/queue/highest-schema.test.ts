/** The schema that a backup is labelled with: the newest of what is in Redis, and of nothing that is damaged. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { highestSchema, newJobId, newWorkerId } from '../../packages/shared/src/index.ts';
import { type QueueWorld, queueWorld } from '../support/queue-world.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const NO_SCHEMAS = [0, -2, 1.5, 1e9, 1e300, '7', null, {}];

async function workerReports({ redis, keys }: QueueWorld, v: unknown): Promise<void> {
  const id = newWorkerId('other');
  await redis.set(keys.worker(id), JSON.stringify({ v, lehr: '9.0.0' }));
  await redis.sadd(keys.workers, id);
}

test('The highest schema is that of the newest process, or of a record that an older one found', async () => {
  const world = await queueWorld(server.url);
  const { redis, keys } = world;
  expect(await highestSchema(redis, keys)).toBe(1);
  await workerReports(world, 2);
  expect(await highestSchema(redis, keys)).toBe(2);
  await redis.hset(keys.unreadable, newJobId(), JSON.stringify({ at: '', version: 3, reason: '' }));
  expect(await highestSchema(redis, keys)).toBe(3);
});

test.each(NO_SCHEMAS)('A version %j in a report or in the list of the unreadable is no schema', async (v) => {
  const world = await queueWorld(server.url);
  const { redis, keys } = world;
  await workerReports(world, v);
  await redis.set(keys.apiProcess('a'), JSON.stringify({ v, lehr: '9.0.0' }));
  await redis.sadd(keys.apiProcesses, 'a');
  await redis.hset(keys.unreadable, newJobId(), JSON.stringify({ at: '', version: v, reason: '' }));
  expect(await highestSchema(redis, keys)).toBe(1);
});

test('An entry in the list of the unreadable that is no JSON hides no other one', async () => {
  const { redis, keys } = await queueWorld(server.url);
  await redis.hset(keys.unreadable, newJobId(), 'not JSON');
  await redis.hset(keys.unreadable, newJobId(), JSON.stringify({ at: '', version: 2, reason: '' }));
  expect(await highestSchema(redis, keys)).toBe(2);
});

test('A record that cannot be read and whose version is no schema is damaged: no newer version will read it', async () => {
  const world = await queueWorld(server.url);
  const id = await world.submit();
  await world.redis.hset(world.keys.record(id), 'v', 1.5, 'input', '<input/>');
  await expect(world.records.read(id)).rejects.toMatchObject({ code: 'internal' });
});

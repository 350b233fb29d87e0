/** Group queues that are no longer used go away with all their keys, and no job is lost by it. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type JobId, newJobId } from '../../packages/shared/src/index.ts';
import { Admitter, requeueLost, retireIdleGroups } from '../../packages/shared/src/queue/index.ts';
import { listGroups } from '../../packages/shared/src/queue/retire.ts';
import { redisNow } from '../../packages/shared/src/redis/index.ts';
import { GROUP, newJob, type QueueWorld, queueWorld } from '../support/queue-world.ts';
import { startRedis, type TestRedis, testRedis } from '../support/redis.ts';
import { ageGroup, retireIdle } from '../support/retired-groups.ts';

const OTHER = 'diffusion.tiny@1.96x64';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

/** Starts and ends all waiting jobs of a group; returns their ids. */
async function runAll({ store }: QueueWorld, group: string): Promise<JobId[]> {
  const claims = (await store.start(group, 100)).map(({ claim }) => claim);
  for (const claim of claims)
    await store.end(claim, { move: 'succeed', id: claim.jobId, lease: claim.token });
  return claims.map(({ jobId }) => jobId);
}

/** Admits and stores a job as the API does. */
async function post(
  { redis, keys, queues, records }: QueueWorld,
  beforeStoring: () => Promise<void> = async () => {},
): Promise<JobId> {
  const id = newJobId();
  const request = { id, tenant: newJob().tenant, queue: GROUP, priority: 'standard', cost: 100 } as const;
  const admission = await new Admitter(redis, keys).admit(request);
  if (admission.code !== 'admitted') throw new Error(`not admitted: ${admission.code}`);
  await beforeStoring();
  const job = newJob({ id, score: admission.score, fair_tag: admission.startTag });
  await records.create(job, () => queues.of(GROUP).add(job, admission.score));
  return id;
}

const retireDue = async ({ redis, keys }: Pick<QueueWorld, 'redis' | 'keys'>): Promise<string[]> =>
  retireIdleGroups(redis, keys, await redisNow(redis));

const keysOfGroup = async ({ redis, keys }: QueueWorld, group: string): Promise<string[]> =>
  (await redis.keys(`${keys.prefix}:*`)).filter((key) => key.includes(`:${group}`));

test('A group without jobs for an hour is retired with all its keys, and a group in use stays', async () => {
  const world = await queueWorld(server.url);
  const finished = await post(world);
  await runAll(world, GROUP);
  await world.submit({ queue: OTHER });
  // Among them BullMQ's counter `pc`, which it deletes only when it looks for a job in vain.
  expect(await keysOfGroup(world, GROUP)).toHaveLength(9);
  expect(await retireIdle(world, [GROUP, OTHER])).toEqual([GROUP]);
  expect(await keysOfGroup(world, GROUP)).toEqual([]);
  expect(await world.redis.smembers(world.keys.groups)).toEqual([OTHER]);
  expect(await world.redis.zrange(world.keys.groupLooks, '0', '-1')).toEqual([OTHER]);
  expect(await world.redis.hget(world.keys.record(finished), 'state')).toBe('succeeded');
});

test('The last admission and the last job that was seen count, and a look is due again an hour after them', async () => {
  const world = await queueWorld(server.url);
  await post(world);
  await ageGroup(world, GROUP);
  const retire = async (idleMs?: number) =>
    retireIdleGroups(world.redis, world.keys, await redisNow(world.redis), idleMs);
  expect(await retire()).toEqual([]);
  // The look found a waiting job.
  await runAll(world, GROUP);
  await world.redis.zadd(world.keys.groupLooks, 1, GROUP);
  expect(await retire()).toEqual([]);
  const seen = Number(await world.redis.hget(world.keys.fair(GROUP), ' :used'));
  expect(Number(await world.redis.zscore(world.keys.groupLooks, GROUP))).toBe(seen + 3_600_000);
  await world.redis.hset(world.keys.fair(GROUP), ' :used', 1, 'bulk :last', seen - 50);
  await world.redis.zadd(world.keys.groupLooks, 1, GROUP);
  expect(await retire()).toEqual([]);
  await world.redis.hset(world.keys.fair(GROUP), ' :used', 1, 'bulk :last', 1, 'standard :last', 1);
  await world.redis.zadd(world.keys.groupLooks, 1, GROUP);
  expect(await retire()).toEqual([GROUP]);
});

test('A group with a waiting, claimed or delayed job is never retired', async () => {
  const world = await queueWorld(server.url);
  const id = await world.submit();
  expect(await retireIdle(world, [GROUP])).toEqual([]);
  const [claim] = await world.claim(GROUP, 1);
  expect(await retireIdle(world, [GROUP])).toEqual([]);
  await world.queues.of(GROUP).handBack(claim, 1);
  expect(await retireIdle(world, [GROUP])).toEqual([]);
  await world.queues.of(GROUP).remove(id);
  const delayed = `${world.keys.prefix}:${GROUP}:delayed`;
  await world.redis.zadd(delayed, 1, id);
  expect(await retireIdle(world, [GROUP])).toEqual([]);
  await world.redis.del(delayed);
  expect(await retireIdle(world, [GROUP])).toEqual([GROUP]);
});

test('A job that is posted while its group is being retired is found, whichever comes first', async () => {
  const world = await queueWorld(server.url);
  const janitor = { redis: testRedis(server.url), keys: world.keys };
  const retire = (): Promise<string[]> => retireIdle(janitor, [GROUP]);
  await post(world);
  await runAll(world, GROUP);
  const orders = [
    async () => {
      expect(await retire()).toEqual([GROUP]);
      return post(world);
    },
    // Between admission and storing; the group counts as used since the admission.
    () => post(world, async () => expect(await retireDue(janitor)).toEqual([])),
    async () => (await Promise.all([post(world), retireDue(janitor)]))[0],
  ];
  for (let i = 0; i < 30; i++) {
    await ageGroup(world, GROUP);
    const id = await orders[i % orders.length]();
    expect(await world.redis.smembers(world.keys.groups)).toEqual([GROUP]);
    expect(await runAll(world, GROUP)).toEqual([id]);
  }
});

test('A worker that sleeps on a group while it is retired is woken by the next job of it', async () => {
  const world = await queueWorld(server.url);
  await post(world);
  await runAll(world, GROUP);
  await world.redis.del(world.queues.of(GROUP).marker);
  const woken = world.claimer.wait([GROUP]);
  expect(await retireIdle(world, [GROUP])).toEqual([GROUP]);
  const id = await post(world);
  expect(await woken).toBe(GROUP);
  expect(await runAll(world, GROUP)).toEqual([id]);
});

test('A retirement that was cut off between two steps leaves a group that works and is retired later', async () => {
  const world = await queueWorld(server.url);
  const { redis, keys } = world;
  await post(world);
  await runAll(world, GROUP);
  // More finished jobs than one step removes.
  const finished = Array.from({ length: 500 }, (_, i) => `old-${i}`);
  const base = `${keys.prefix}:${GROUP}:`;
  await redis.zadd(`${base}completed`, ...finished.flatMap((id, i) => [i, id]));
  for (const id of finished) await redis.hset(`${base}${id}`, 'name', 'x');
  await ageGroup(world, GROUP);
  const script = readFileSync(new URL('../../packages/shared/src/queue/retire.lua', import.meta.url), 'utf8');
  const step = await redis.eval(
    script,
    3,
    keys.groups,
    keys.groupLooks,
    keys.waiting('tiny@1'),
    keys.prefix,
    GROUP,
    3_600_000,
    200,
    keys.retiredGroups,
  );
  expect(step).toBe('more');
  const id = await post(world);
  expect(await retireIdle(world, [])).toEqual([]);
  expect(await runAll(world, GROUP)).toEqual([id]);
  expect(await retireIdle(world, [GROUP])).toEqual([GROUP]);
  expect(await keysOfGroup(world, GROUP)).toEqual([]);
});

test('A lost job of a retired group is requeued, and its group is listed and announced again', async () => {
  const world = await queueWorld(server.url);
  const job = newJob();
  await world.records.create(job, async () => {});
  expect(await retireIdle(world, [GROUP])).toEqual([GROUP]);
  const subscriber = testRedis(server.url, 'subscriber');
  const announced = new Promise((resolve) => subscriber.once('message', (_, group) => resolve(group)));
  await subscriber.subscribe(world.keys.groups);
  const later = (await redisNow(world.redis)) + 60_000;
  expect(await requeueLost(world.redis, world.keys, world.queues, world.records, later)).toEqual([job.id]);
  expect(await announced).toBe(GROUP);
  expect(await world.redis.smembers(world.keys.groups)).toEqual([GROUP]);
  expect(await runAll(world, GROUP)).toEqual([job.id]);
  // Its load was removed with the group and is not counted below zero.
  expect(await world.redis.hget(world.keys.load(GROUP), 'standard')).toBeNull();
});

test('A group with a waiting job that is not listed is listed by the search for lost jobs', async () => {
  const world = await queueWorld(server.url);
  await world.submit();
  await world.redis.del(world.keys.groups, world.keys.groupLooks);
  const later = (await redisNow(world.redis)) + 60_000;
  expect(await requeueLost(world.redis, world.keys, world.queues, world.records, later)).toEqual([]);
  expect(await world.redis.smembers(world.keys.groups)).toEqual([GROUP]);
});

test('All groups that are due are looked at, and one that fails does not keep others', async () => {
  const world = await queueWorld(server.url);
  const { redis, keys } = world;
  const old = Array.from({ length: 250 }, (_, i) => `diffusion.tiny@1.${i}x64`);
  await listGroups(redis, keys, old);
  const now = await redisNow(redis);
  await redis.set(`${keys.prefix}:${old[0]}:wait`, 'broken');
  for (const group of old) await ageGroup(world, group);
  await expect(retireIdleGroups(redis, keys, now)).rejects.toThrow('1 groups to retire failed');
  expect(await redis.smembers(keys.groups)).toEqual([old[0]]);
});

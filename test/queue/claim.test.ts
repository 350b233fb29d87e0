import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { firstScore, recoverStalled } from '../../packages/shared/src/queue/index.ts';
import { redisNow } from '../../packages/shared/src/redis/index.ts';
import { GROUP, queueWorld } from '../support/queue-world.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const group = (i: number): string => `diffusion.tiny@1.${64 + 8 * i}x64`;

test('One blocking connection waits for forty groups, and a job in one of them wakes it with that group', async () => {
  const world = await queueWorld(server.url);
  const groups = Array.from({ length: 40 }, (_, i) => group(i));
  for (const target of [group(0), group(23), group(39)]) {
    const woken = world.claimer.wait(groups);
    await world.submit({ queue: target });
    expect(await woken).toBe(target);
    expect(await world.claimer.claim(target, 1)).toHaveLength(1);
    // Claiming sets the marker again, in case more is there.
    expect(await world.claimer.wait([target])).toBe(target);
  }
});

test('An interrupt ends the wait under way, or the next one', async () => {
  const world = await queueWorld(server.url);
  const waiting = world.claimer.wait([GROUP]);
  await world.claimer.interrupt();
  expect(await waiting).toBeUndefined();
  await world.claimer.interrupt();
  expect(await world.claimer.wait([GROUP])).toBeUndefined();
});

test('Passing a group on wakes the next worker', async () => {
  const world = await queueWorld(server.url);
  const other = await world.another();
  await world.submit();
  expect(await world.claimer.wait([GROUP])).toBe(GROUP);
  const woken = other.claimer.wait([GROUP]);
  await world.claimer.pass(GROUP);
  expect(await woken).toBe(GROUP);
});

test('A claim returns at most the requested number of jobs and at most those that wait', async () => {
  const world = await queueWorld(server.url);
  for (let i = 0; i < 5; i++) await world.submit();
  expect(await world.claimer.claim(GROUP, 3)).toHaveLength(3);
  expect(await world.claimer.claim(GROUP, 8)).toHaveLength(2);
  expect(await world.claimer.claim(GROUP, 8)).toEqual([]);
});

test('Two workers that claim at once never get the same job', async () => {
  const world = await queueWorld(server.url);
  const other = await world.another();
  const ids = new Set<string>();
  for (let i = 0; i < 40; i++) ids.add(await world.submit());
  const claims = (
    await Promise.all(
      [0, 1, 2, 3].flatMap(() => [world.claimer.claim(GROUP, 8), other.claimer.claim(GROUP, 8)]),
    )
  ).flat();
  expect(claims).toHaveLength(40);
  expect(new Set(claims.map((claim) => claim.jobId))).toEqual(ids);
});

test('The head of a group has the number of waiting jobs, the class of the first one and how long that one has waited', async () => {
  const world = await queueWorld(server.url);
  expect(await world.claimer.findWork(['tiny@1'])).toEqual([]);
  await world.submit({ priority: 'bulk' });
  await world.submit({ priority: 'interactive' });
  const [head] = await world.claimer.findWork(['tiny@1']);
  expect(head).toMatchObject({ queue: GROUP, waiting: 2, priority: 'interactive' });
  expect(head.waitedMs).toBeGreaterThanOrEqual(0);
});

test('A look finds exactly the groups of its models that have waiting jobs', async () => {
  const world = await queueWorld(server.url);
  const found = async () => (await world.claimer.findWork(['tiny@1'])).map(({ queue }) => queue).sort();
  await world.submit({ queue: group(1) });
  await world.submit({ queue: group(2) });
  await world.submit({ queue: 'whisper.ears@1', model: 'ears@1' });
  expect(await found()).toEqual([group(1), group(2)]);
  expect((await world.claimer.findWork(['tiny@1', 'ears@1'])).length).toBe(3);
  const [claim] = await world.claimer.claim(group(1), 1);
  expect(await found()).toEqual([group(2)]);
  expect(await world.redis.smembers(world.keys.waiting('tiny@1'))).toEqual([group(2)]);
  await world.queues.of(group(1)).handBack(claim, 1);
  expect(await found()).toEqual([group(1), group(2)]);
});

test('A group that the index of waiting groups lacks is added by a wake-up and by the janitor', async () => {
  const world = await queueWorld(server.url);
  const found = async () => (await world.claimer.findWork(['tiny@1'])).map(({ queue }) => queue);
  const forget = () => world.redis.del(world.keys.waiting('tiny@1'));
  await world.submit();
  await forget();
  expect(await found()).toEqual([]);
  expect(await world.claimer.wait([GROUP])).toBe(GROUP);
  expect(await found()).toEqual([GROUP]);
  await forget();
  await recoverStalled(world.redis, world.keys, world.queues, world.records);
  expect(await found()).toEqual([GROUP]);
});

test('How long a job has waited does not depend on the clocks of the processes', async () => {
  const world = await queueWorld(server.url);
  const admittedAt = (await redisNow(world.redis)) - 5000;
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3_600_000 });
  onTestFinished(() => {
    vi.useRealTimers();
  });
  await world.submit({ admitted_at: admittedAt });
  const [head] = await world.claimer.findWork(['tiny@1']);
  expect(head.waitedMs).toBeGreaterThanOrEqual(5000);
  expect(head.waitedMs).toBeLessThan(600_000);
});

test('A waiting job has a position in its queue, and a claimed one has none', async () => {
  const world = await queueWorld(server.url);
  const ids = [await world.submit(), await world.submit(), await world.submit()];
  const queue = world.queues.of(GROUP);
  expect(await Promise.all(ids.map((id) => queue.position(id)))).toEqual([1, 2, 3]);
  const [claim] = await world.claimer.claim(GROUP, 1);
  expect(await Promise.all(ids.map((id) => queue.position(id)))).toEqual([undefined, 1, 2]);
  await queue.handBack(claim, firstScore('standard'));
  expect(await queue.position(ids[0])).toBe(1);
});

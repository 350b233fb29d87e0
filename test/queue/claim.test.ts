import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { firstScore } from '../../packages/shared/src/queue/index.ts';
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
  expect(await world.claimer.heads([GROUP])).toEqual([]);
  await world.submit({ priority: 'bulk' });
  await world.submit({ priority: 'interactive' });
  const [head] = await world.claimer.heads([group(3), GROUP]);
  expect(head).toMatchObject({ queue: GROUP, waiting: 2, priority: 'interactive' });
  expect(head.waitedMs).toBeGreaterThanOrEqual(0);
});

test('How long a job has waited does not depend on the clocks of the processes', async () => {
  const world = await queueWorld(server.url);
  const admittedAt = (await redisNow(world.redis)) - 5000;
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3_600_000 });
  onTestFinished(() => {
    vi.useRealTimers();
  });
  await world.submit({ admitted_at: admittedAt });
  const [head] = await world.claimer.heads([GROUP]);
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

import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import type { TenantId } from '../../packages/shared/src/index.ts';
import { type Claim, firstScore, recoverStalled } from '../../packages/shared/src/queue/index.ts';
import { redisNow } from '../../packages/shared/src/redis/index.ts';
import { bullQueue, GROUP, queueWorld } from '../support/queue-world.ts';
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
    expect(await world.claim(target, 1)).toHaveLength(1);
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
  expect(await world.claim(GROUP, 3)).toHaveLength(3);
  expect(await world.claim(GROUP, 8)).toHaveLength(2);
  expect(await world.claim(GROUP, 8)).toEqual([]);
});

test('Two workers that claim at once never get the same job', async () => {
  const world = await queueWorld(server.url);
  const other = await world.another();
  const ids = new Set<string>();
  for (let i = 0; i < 40; i++) ids.add(await world.submit());
  const claims = (
    await Promise.all([0, 1, 2, 3].flatMap(() => [world.claim(GROUP, 8), other.claim(GROUP, 8)]))
  ).flat();
  expect(claims).toHaveLength(40);
  expect(new Set(claims.map((claim) => claim.jobId))).toEqual(ids);
});

test('The head of a group has the number of waiting jobs, and the class, the cost and the waiting time of the first one', async () => {
  const world = await queueWorld(server.url);
  expect(await world.claimer.findWork(['tiny@1'])).toEqual([]);
  await world.submit({ priority: 'bulk' });
  const first = await world.submit({ priority: 'interactive', cost: 41.5 });
  const [head] = await world.claimer.findWork(['tiny@1']);
  expect(head).toMatchObject({ queue: GROUP, waiting: 2, priority: 'interactive', costMs: 42 });
  expect(head.waitedMs).toBeGreaterThanOrEqual(0);
  await world.redis.del(world.keys.record(first));
  const [lost] = await world.claimer.findWork(['tiny@1']);
  expect(lost.costMs).toBeUndefined();
});

test('A group that is paused in BullMQ has no head until it is resumed, and its resumption wakes a worker', async () => {
  const world = await queueWorld(server.url);
  const queue = bullQueue(world, GROUP);
  await world.submit();
  await queue.pause();
  await world.submit();
  expect(await world.claimer.findWork(['tiny@1'])).toEqual([]);
  const woken = world.claimer.wait([GROUP]);
  await queue.resume();
  expect(await woken).toBe(GROUP);
  expect(await world.claimer.findWork(['tiny@1'])).toMatchObject([{ queue: GROUP, waiting: 2 }]);
});

test('A look finds exactly the groups of its models that have waiting jobs', async () => {
  const world = await queueWorld(server.url);
  const found = async () => (await world.claimer.findWork(['tiny@1'])).map(({ queue }) => queue).sort();
  await world.submit({ queue: group(1) });
  await world.submit({ queue: group(2) });
  await world.submit({ queue: 'whisper.ears@1', model: 'ears@1' });
  expect(await found()).toEqual([group(1), group(2)]);
  expect((await world.claimer.findWork(['tiny@1', 'ears@1'])).length).toBe(3);
  const [claim] = await world.claim(group(1), 1);
  expect(await found()).toEqual([group(2)]);
  expect(await world.redis.smembers(world.keys.waiting('tiny@1'))).toEqual([group(2)]);
  await world.queues.of(group(1)).handBack(claim, 1);
  expect(await found()).toEqual([group(1), group(2)]);
});

/** Groups with a waiting job each, as if they had been submitted, and how many commands Redis has run for a search. */
async function manyGroups(count: number) {
  const world = await queueWorld(server.url);
  const names = Array.from({ length: count }, (_, i) => group(i));
  const { redis, keys } = world;
  for (let i = 0; i < count; i += 1000) {
    const pipeline = redis.pipeline();
    for (const name of names.slice(i, i + 1000)) {
      pipeline.zadd(`${keys.prefix}:${name}:prioritized`, firstScore('standard'), `job-of-${name}`);
      pipeline.sadd(keys.waiting('tiny@1'), name);
    }
    await pipeline.exec();
  }
  const looks = async (): Promise<number> => {
    const stats = await redis.info('commandstats');
    return Number(/cmdstat_zcard:calls=(\d+)/.exec(stats)?.[1] ?? 0);
  };
  const search = async (again: readonly string[] = []) => {
    const before = await looks();
    const heads = await world.claimer.findWork(['tiny@1'], again);
    return { found: heads.map(({ queue }) => queue), looks: (await looks()) - before };
  };
  return { ...world, names, search };
}

test('A search among ten thousand groups looks at a few of them, and the next searches find all others', async () => {
  const { claimer, names, search } = await manyGroups(10_000);
  const found = new Set<string>();
  for (let searches = 0; found.size < names.length; searches++) {
    expect(searches).toBeLessThan(1000);
    const { found: some, looks } = await search([names[0]]);
    expect(some).toContain(names[0]);
    expect(looks).toBeLessThanOrEqual(100);
    expect(claimer.searchedAll).toBe(false);
    for (const queue of some) found.add(queue);
  }
}, 60_000);

test('A search among many groups looks again at the most urgent ones that an earlier search has found', async () => {
  const { names, search, submit, claimer } = await manyGroups(2_000);
  await search();
  const woken = claimer.wait([names[1_234]]);
  await submit({ queue: names[1_234], priority: 'interactive', score: firstScore('interactive') });
  expect(await woken).toBe(names[1_234]);
  for (let i = 0; i < 5; i++) expect((await search()).found).toContain(names[1_234]);
});

test('Searches remove groups without waiting jobs from a large index', async () => {
  const { names, search, redis, keys, claimer } = await manyGroups(1_000);
  for (const name of names.slice(1)) await redis.del(`${keys.prefix}:${name}:prioritized`);
  for (let i = 0; i < 100 && !claimer.searchedAll; i++) await search();
  await search();
  while (!claimer.searchedAll) await search();
  expect(await redis.smembers(keys.waiting('tiny@1'))).toEqual([names[0]]);
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
  const [claim] = await world.claim(GROUP, 1);
  expect(await Promise.all(ids.map((id) => queue.position(id)))).toEqual([undefined, 1, 2]);
  await queue.handBack(claim, firstScore('standard'));
  expect(await queue.position(ids[0])).toBe(1);
});

test('A process that used thousands of groups remembers a bounded number of their queues, and none that was retired', async () => {
  const { queues } = await queueWorld(server.url);
  for (let i = 0; i < 3_000; i++) queues.of(group(i));
  const bound = queues.known;
  expect(bound).toBeLessThanOrEqual(1_000);
  const kept = queues.of(group(2_999));
  expect(queues.of(group(2_999))).toBe(kept);
  queues.forget(group(2_999));
  expect(queues.known).toBe(bound - 1);
});

test('A search looks past the jobs of a tenant that gets no more, also to less urgent classes, and the claim takes what it found', async () => {
  const world = await queueWorld(server.url);
  const tenant = 'full' as TenantId;
  const full = `diffusion standard ${tenant}` as const;
  const ofFull = [await world.submit({ tenant }), await world.submit({ tenant })];
  const search = async () => (await world.claimer.findWork(['tiny@1'], [], [full]))[0];
  expect(await search()).toMatchObject({
    queue: GROUP,
    waiting: 2,
    waitingOfClass: 2,
    isOfFullTenant: true,
  });
  const bulk = await world.submit({ priority: 'bulk' });
  const ownBulk = await world.submit({ priority: 'bulk', tenant });
  const behind = await search();
  expect(behind).toMatchObject({ waiting: 4, waitingOfClass: 2, priority: 'bulk' });
  const other = await world.submit();
  const open = await search();
  expect(open).toMatchObject({ waiting: 5, waitingOfClass: 3, priority: 'standard' });
  expect([behind.isOfFullTenant, open.isOfFullTenant]).toEqual([undefined, undefined]);
  const claimed: Claim[] = [];
  for (const outOfTurn of [open.outOfTurn, behind.outOfTurn, ownBulk, undefined])
    claimed.push(...(await world.store.start(GROUP, 1, outOfTurn)).map(({ claim }) => claim));
  expect(claimed.map(({ jobId }) => jobId)).toEqual([other, bulk, ownBulk, ofFull[0]]);
});

test('A search finds the long job of another tenant after shorter ones have moved the virtual time past its start tag', async () => {
  const world = await queueWorld(server.url);
  const tenant = 'full' as TenantId;
  for (let i = 0; i < 3; i++) await world.submit({ tenant });
  const long = await world.submit({ cost: 10_000 });
  // Admission removes tags that the virtual time has passed, also of tenants whose jobs still wait.
  await world.redis.zadd(`${world.keys.prefix}:fair:${GROUP}:standard`, 500, tenant);
  const [head] = await world.claimer.findWork(['tiny@1'], [], [`diffusion standard ${tenant}`]);
  expect(head.isOfFullTenant).toBeUndefined();
  expect(await world.store.start(GROUP, 1, head.outOfTurn)).toMatchObject([{ claim: { jobId: long } }]);
});

test('A tenant that gets no more jobs of one task still gets those of another', async () => {
  const world = await queueWorld(server.url);
  const tenant = 'full' as TenantId;
  await world.submit({ tenant });
  const [head] = await world.claimer.findWork(['tiny@1'], [], [`whisper standard ${tenant}`]);
  expect([head.waiting, head.isOfFullTenant]).toEqual([1, undefined]);
});

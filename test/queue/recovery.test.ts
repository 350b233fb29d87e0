import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { type JobId, newLeaseToken, silentLog, systemClock } from '../../packages/shared/src/index.ts';
import { Janitor, Leases, requeueLost } from '../../packages/shared/src/queue/index.ts';
import { assertNoEviction, openRedis, redisNow, redisReady } from '../../packages/shared/src/redis/index.ts';
import { GROUP, newJob, type QueueWorld, queueWorld } from '../support/queue-world.ts';
import { startRedis, type TestRedis, testRedis } from '../support/redis.ts';
import { SLOW_MACHINE, within } from '../support/timeouts.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

function leasesOf(
  world: QueueWorld,
  renewEveryMs = 100,
): { leases: Leases; lost: string[]; renewed: () => number } {
  const lost: string[] = [];
  let renewals = 0;
  const leases = new Leases({
    queues: world.queues,
    log: silentLog,
    renewEveryMs,
    onLost: (lease) => lost.push(lease.jobId),
    onRenewed: () => renewals++,
  });
  onTestFinished(() => leases.stop());
  return { leases, lost, renewed: () => renewals };
}

const failureOf = (command: Promise<unknown>): Promise<unknown> =>
  command.then(
    () => 'it succeeded',
    (error: unknown) => error,
  );

test('Leases of several groups are kept as long as they are renewed', async () => {
  const world = await queueWorld(server.url, { leaseMs: 3000 });
  const groups = ['diffusion.tiny@1.64x64', 'diffusion.tiny@1.128x64'];
  for (const queue of groups) for (let i = 0; i < 4; i++) await world.submit({ queue });
  const { leases, lost, renewed } = leasesOf(world);
  const claims = (await Promise.all(groups.map((group) => world.claim(group, 4)))).flat();
  for (const claim of claims) leases.add(claim);
  leases.start();
  // Longer than a lease lasts without renewal.
  await vi.waitFor(() => expect(renewed()).toBeGreaterThan(35), SLOW_MACHINE);
  expect(lost).toEqual([]);
  for (const claim of claims) expect(await world.queues.of(claim.queue).complete(claim)).toBe(true);
});

test('A lease taken by another process is reported as lost once and no longer renewed', async () => {
  const world = await queueWorld(server.url);
  const id = await world.submit();
  const [claim] = await world.claim(GROUP, 1);
  const { leases, lost } = leasesOf(world);
  leases.add(claim);
  await world.redis.set(`${world.keys.prefix}:${GROUP}:${id}:lock`, 'another process');
  await leases.renew();
  await leases.renew();
  expect(lost).toEqual([id]);
  expect(leases.size).toBe(0);
});

test('A job that is claimed again loses its earlier lease, which can no longer remove the later one', async () => {
  const world = await queueWorld(server.url);
  const id = await world.submit();
  const [earlier] = await world.claim(GROUP, 1);
  const later = { ...earlier, token: newLeaseToken(world.worker) };
  const { leases, lost } = leasesOf(world);
  leases.add(earlier);
  leases.add(later);
  expect(lost).toEqual([id]);
  leases.remove(earlier);
  expect(leases.size).toBe(1);
  leases.remove(later);
  expect(leases.size).toBe(0);
});

test('A failed renewal loses no lease, and the next one works', async () => {
  const own = await startRedis();
  onTestFinished(() => own.stop());
  const world = await queueWorld(own.url);
  await world.submit();
  const [claim] = await world.claim(GROUP, 1);
  const { leases, lost, renewed } = leasesOf(world);
  leases.add(claim);
  // A full Redis refuses every write that needs memory.
  await world.redis.config('SET', 'maxmemory', '1');
  await leases.renew();
  expect(renewed()).toBe(0);
  await world.redis.config('SET', 'maxmemory', '0');
  await leases.renew();
  expect([renewed(), lost]).toEqual([1, []]);
});

test('A record without a queued job is requeued once', async () => {
  const world = await queueWorld(server.url);
  const job = newJob();
  await world.records.create(job, async () => {});
  const later = (await redisNow(world.redis)) + 60_000;
  expect(await requeueLost(world.redis, world.keys, world.queues, world.records, later)).toEqual([job.id]);
  expect(await requeueLost(world.redis, world.keys, world.queues, world.records, later)).toEqual([]);
  expect(await world.claim(GROUP, 2)).toMatchObject([{ jobId: job.id }]);
});

test('A job that may still be on its way into the queue is not requeued', async () => {
  const world = await queueWorld(server.url);
  await world.records.create(newJob(), async () => {});
  const now = await redisNow(world.redis);
  expect(await requeueLost(world.redis, world.keys, world.queues, world.records, now)).toEqual([]);
});

test('One of several janitors does the rounds and reports the jobs it expired, and another takes over when it stops', async () => {
  const world = await queueWorld(server.url);
  const expired: JobId[] = [];
  const janitorOf = (everyMs: number) =>
    new Janitor({
      ...world,
      clock: systemClock,
      log: silentLog,
      everyMs,
      reconcileEveryMs: 1000,
      onExpired: ({ id }) => expired.push(id),
    });
  // The first lock lasts three rounds of its janitor, which are sixty rounds of the second.
  const [first, second] = [janitorOf(2000), janitorOf(100)];
  onTestFinished(async () => {
    await first.stop();
    await second.stop();
  });
  first.start();
  await vi.waitFor(
    async () => expect(await world.redis.get(world.keys.janitor)).not.toBeNull(),
    SLOW_MACHINE,
  );
  const holder = await world.redis.get(world.keys.janitor);
  second.start();

  const overdue = await world.submit({ deadline_at: 1 });
  await vi.waitFor(
    async () => expect((await world.records.read(overdue))?.state).toBe('expired'),
    SLOW_MACHINE,
  );
  await vi.waitFor(async () => expect(await world.claimer.findWork(['tiny@1'])).toEqual([]), SLOW_MACHINE);
  await vi.waitFor(() => expect(expired).toEqual([overdue]), SLOW_MACHINE);
  expect(await world.redis.get(world.keys.janitor)).toBe(holder);

  await first.stop();
  await vi.waitFor(async () => {
    const next = await world.redis.get(world.keys.janitor);
    expect(next).not.toBeNull();
    expect(next).not.toBe(holder);
  }, SLOW_MACHINE);
});

test('Every acknowledged job survives kill -9 of Redis', async () => {
  const own = await startRedis(['--appendfsync', 'always']);
  onTestFinished(() => own.stop());
  const world = await queueWorld(own.url);
  const ids = await Promise.all(Array.from({ length: 50 }, () => world.submit()));
  await own.restart();
  expect(await world.claimer.findWork(['tiny@1'])).toMatchObject([{ waiting: 50 }]);
  expect((await world.records.readMany(ids)).every((record) => record?.state === 'queued')).toBe(true);
});

test('A worker that waits for jobs while Redis is killed is woken by jobs that arrive afterwards', async () => {
  const own = await startRedis(['--appendfsync', 'always']);
  onTestFinished(() => own.stop());
  const world = await queueWorld(own.url);
  const waiting = world.claimer.wait([GROUP]);
  await vi.waitFor(
    async () => expect(await world.redis.client('LIST')).toContain('cmd=bzpopmin'),
    SLOW_MACHINE,
  );
  await own.restart();
  await world.submit();
  expect(await waiting).toBe(GROUP);
  expect(await world.claim(GROUP, 1)).toHaveLength(1);
});

test('Connections resume within seconds after Redis is back, and an API command fails fast meanwhile', async () => {
  const own = await startRedis();
  onTestFinished(() => own.stop());
  const api = testRedis(own.url, 'api');
  await redisReady(api);
  await own.kill();
  expect(await within(2500, 'the ping', failureOf(api.ping()))).toBeInstanceOf(Error);
  await own.restart();
  const up = performance.now();
  await vi.waitFor(async () => expect(await api.ping()).toBe('PONG'), 10_000);
  expect(performance.now() - up).toBeLessThan(3000);
});

test('An API command to a frozen Redis fails after two seconds', async () => {
  const own = await startRedis();
  onTestFinished(() => own.stop());
  const api = testRedis(own.url, 'api');
  await redisReady(api);
  own.freeze();
  const failure = await within(2500, 'the ping', failureOf(api.ping()));
  expect(failure).toMatchObject({ message: expect.stringMatching(/timed out/i) });
  own.thaw();
});

test('A Redis that evicts keys is refused with the reason', async () => {
  const own = await startRedis(['--maxmemory-policy', 'allkeys-lru']);
  onTestFinished(() => own.stop());
  const redis = testRedis(own.url);
  await expect(assertNoEviction(redis)).rejects.toThrow(/allkeys-lru.*noeviction/s);
  await redis.config('SET', 'maxmemory-policy', 'noeviction');
  await expect(assertNoEviction(redis)).resolves.toBeUndefined();
});

test.each([
  ['without a password', 'redis://', 'NOAUTH'],
  ['with a wrong password', 'redis://api:hush@', 'WRONGPASS'],
])(
  'The error for a Redis that is asked %s says that it answers, and names the setting',
  async (_, start, reply) => {
    const redis = openRedis(`${start}127.0.0.1:${server.port}`, 'worker');
    onTestFinished(() => redis.disconnect());
    await expect(redisReady(redis, 60_000)).rejects.toThrow(
      `Redis at 127.0.0.1:${server.port} answers ${reply}: correct user and password in LEHR_REDIS_URL`,
    );
  },
);

test('The error for an unreachable Redis names host and port, never the password', async () => {
  const redis = openRedis('redis://:hush@127.0.0.1:1', 'worker');
  onTestFinished(() => redis.disconnect());
  const failure = redisReady(redis, 300).catch((error: Error) => error.message);
  expect(await failure).toContain('127.0.0.1:1');
  expect(await failure).not.toContain('hush');
});

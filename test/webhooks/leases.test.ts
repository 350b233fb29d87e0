/** One schedule for all processes: a delivery is taken under a lease, and only its lease may change it. */
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { Channels } from '../../apps/api/src/follow/channels.ts';
import { DeliveryLoop } from '../../apps/api/src/webhooks/delivery-loop.ts';
import { webhookId } from '../../apps/api/src/webhooks/event-message.ts';
import {
  type JobId,
  newJobId,
  silentLog,
  systemClock,
  type TenantId,
} from '../../packages/shared/src/index.ts';
import { redisNow } from '../../packages/shared/src/redis/index.ts';
import { startRedis, type TestRedis, testRedis } from '../support/redis.ts';
import { SLOW_MACHINE } from '../support/timeouts.ts';
import { webhookReceiver } from '../support/webhook-receiver.ts';
import { type WebhookWorld, webhookWorld } from '../support/webhook-world.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const END = { events: ['job.failed'] };

const delivered = (world: WebhookWorld, job: JobId): Promise<void> =>
  vi.waitFor(
    async () =>
      expect((await world.hooks.deliveries.of(job)).map(({ state }) => state)).toEqual(['delivered']),
    SLOW_MACHINE,
  );

/** A delivery that is due, and its schedule. */
async function dueDelivery(world: WebhookWorld, owner = 'default') {
  const job = newJobId();
  const ref = { job, event: 'job.failed', id: webhookId(job, 'job.failed') };
  const tenant = owner as never;
  await world.hooks.deliveries.open(ref, {
    tenant,
    signer: tenant,
    url: 'http://127.0.0.1:9/',
    body: '{}',
    retried: '1',
  });
  return { job, ref, ...world.hooks };
}

const attemptOf = (id: string, status: number) => ({
  webhook_id: id,
  event: 'job.failed',
  at: new Date().toISOString(),
  ms: 1,
  status,
  answer: '',
  error: null,
});

test('A delivery is taken by one process at a time, and again when its lease has ended', async () => {
  const world = await webhookWorld(server.url);
  const { job, schedule } = await dueDelivery(world);
  const taken = await Promise.all(Array.from({ length: 5 }, () => schedule.take(10, 60_000)));
  const [first, another] = taken.flatMap(({ deliveries }) => deliveries);
  expect([first.job, another]).toEqual([job, undefined]);
  for (const { nextInMs } of taken) expect(nextInMs).toBeGreaterThan(50_000);
  await schedule.renew([first], 0);
  const [second] = (await schedule.take(10, 60_000)).deliveries;
  expect(second.job).toBe(job);
  // The first process has lost it: it neither renews nor releases the lease of the second.
  await schedule.renew([first], 0);
  await schedule.release(first, 0);
  expect((await schedule.take(10, 60_000)).deliveries).toEqual([]);
  await schedule.release(second, 0);
  expect((await schedule.take(10, 60_000)).deliveries).toHaveLength(1);
});

/** Starts a loop whose deliveries end when `answer` is called, those of the tenant `other` at once. */
function startedLoop({ keys, hooks }: WebhookWorld, concurrency: number, maxPerTenant: number) {
  const handled: string[] = [];
  let answer = (): void => {};
  const answered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const loop = new DeliveryLoop({
    schedule: hooks.schedule,
    channels: new Channels(testRedis(server.url, 'subscriber')),
    keys,
    clock: systemClock,
    log: silentLog,
    concurrency,
    maxPerTenant,
    leaseMs: 60_000,
    pollMs: 50,
    handle: async ({ tenant }) => {
      handled.push(tenant);
      if (tenant !== 'other') await answered;
    },
  });
  onTestFinished(() => loop.stop(0));
  loop.start();
  return { handled, answer };
}

test('The slow receivers of four tenants leave places for the deliveries of another tenant', async () => {
  const world = await webhookWorld(server.url);
  const tenants = ['a', 'b', 'c', 'd'];
  await Promise.all(tenants.flatMap((each) => Array.from({ length: 128 }, () => dueDelivery(world, each))));
  const { handled, answer } = startedLoop(world, 512, 128);
  // All that are due are being handled, or wait for their tenant's share.
  const due = async () => world.redis.zcount(world.keys.undelivered, '-inf', await redisNow(world.redis));
  await expect.poll(due, SLOW_MACHINE).toBe(0);
  await dueDelivery(world, 'other');
  await expect.poll(() => handled).toContain('other');
  expect(new Set(handled)).toEqual(new Set([...tenants, 'other']));
  answer();
  await expect.poll(() => handled, SLOW_MACHINE).toHaveLength(4 * 128 + 1);
});

test('The slow receivers of one tenant do not keep the deliveries of another tenant waiting', async () => {
  const world = await webhookWorld(server.url);
  for (let i = 0; i < 6; i++) await dueDelivery(world, 'busy');
  await dueDelivery(world, 'other');
  const { handled, answer } = startedLoop(world, 4, 2);
  await expect.poll(() => handled).toContain('other');
  expect(handled.sort()).toEqual(['busy', 'busy', 'other']);
  answer();
  await expect.poll(() => handled.filter((tenant) => tenant === 'busy')).toHaveLength(6);
});

test('Ten thousand due deliveries above the share of a tenant are read once, and then when there is room for them', async () => {
  const world = await webhookWorld(server.url);
  const { redis, hooks } = world;
  const DUE = 10_000;
  for (let i = 0; i < DUE; i += 200) {
    await Promise.all(Array.from({ length: 200 }, () => dueDelivery(world, 'busy')));
  }
  const reads = async (): Promise<number> =>
    Number(/cmdstat_hmget:calls=(\d+)/.exec(await redis.info('commandstats'))?.[1] ?? 0);
  const busy = 'busy' as TenantId;
  const take = (handled: number) =>
    hooks.schedule.take(16, 60_000, { max: 20, handled: new Map([[busy, handled]]) });
  while ((await take(20)).nextInMs !== undefined);
  const before = await reads();
  for (let round = 0; round < 50; round++) expect((await take(20)).deliveries).toEqual([]);
  expect(await reads()).toBe(before);
  expect((await hooks.deliveries.counts()).undelivered).toBe(DUE);
  await dueDelivery(world, 'other');
  expect((await take(20)).deliveries).toMatchObject([{ tenant: 'other' }]);
  // Another process has room for all, and this one for two.
  expect((await take(18)).deliveries).toMatchObject([{ tenant: 'busy' }, { tenant: 'busy' }]);
  expect((await take(0)).deliveries).toHaveLength(16);
  expect((await hooks.deliveries.counts()).undelivered).toBe(DUE + 1);
});

test('A deferred delivery that its owner restarts is taken once', async () => {
  const world = await webhookWorld(server.url);
  const { schedule, deliveries, ref } = await dueDelivery(world, 'busy');
  const handled = new Map([['busy' as TenantId, 1]]);
  expect((await schedule.take(16, 60_000, { max: 1, handled })).deliveries).toEqual([]);
  const stored = await deliveries.read(ref);
  if (stored) await deliveries.restart(stored.delivery);
  expect((await schedule.take(16, 60_000)).deliveries).toHaveLength(1);
  expect((await schedule.take(16, 60_000)).deliveries).toEqual([]);
});

test('A stalled attempt changes nothing after another process has delivered, and is only logged', async () => {
  const world = await webhookWorld(server.url);
  const { job, ref, schedule, deliveries } = await dueDelivery(world);
  const [stalled] = (await schedule.take(1, 0)).deliveries;
  const [second] = (await schedule.take(1, 60_000)).deliveries;
  expect(await deliveries.settle(stalled, { state: 'pending', retryInMs: 0 })).toBe('stale');
  expect(await deliveries.settle(second, { state: 'delivered' }, attemptOf(ref.id, 204))).toBe('settled');
  for (const next of [{ state: 'pending', retryInMs: 0 }, { state: 'failed' }, { state: 'gone' }] as const)
    expect(await deliveries.settle(stalled, next, attemptOf(ref.id, 500))).toBe('stale');
  expect(await deliveries.of(job)).toMatchObject([{ state: 'delivered', tries: 1 }]);
  expect((await deliveries.attempts(job)).map(({ status }) => status)).toEqual([204, 500, 500, 500]);
  expect((await schedule.take(1, 60_000)).deliveries).toEqual([]);
});

test('The result of an attempt that was overtaken by a redelivery request changes nothing', async () => {
  const world = await webhookWorld(server.url);
  const { job, schedule, deliveries } = await dueDelivery(world);
  const [running] = (await schedule.take(1, 60_000)).deliveries;
  await deliveries.restart(running);
  expect(await deliveries.settle(running, { state: 'failed' })).toBe('stale');
  expect(await deliveries.of(job)).toMatchObject([{ state: 'pending', tries: 0 }]);
  expect((await schedule.take(1, 60_000)).deliveries).toHaveLength(1);
});

test('The lease of a long attempt is renewed, so that no other process makes it as well', async () => {
  const world = await webhookWorld(server.url);
  const receiver = await webhookReceiver();
  let reply = (): void => {};
  receiver.answer({
    status: 204,
    after: new Promise<void>((resolve) => {
      reply = resolve;
    }),
  });
  await world.deliverer({ timeoutMs: 60_000, times: { leaseMs: 2000 } });
  const job = await world.hooked(receiver.url, END);
  await world.run(job);
  await receiver.until(1);
  const scores = new Set<string | null>();
  await vi.waitFor(async () => {
    scores.add(await world.redis.zscore(world.keys.undelivered, `${job} job.failed`));
    expect(scores.size).toBeGreaterThan(3);
  }, SLOW_MACHINE);
  reply();
  await delivered(world, job);
  expect(receiver.received).toHaveLength(1);
});

test('A delivery that cannot be read does not keep the others from being made', async () => {
  const world = await webhookWorld(server.url);
  const receiver = await webhookReceiver();
  const { job: broken } = await dueDelivery(world);
  await world.redis.hset(world.keys.delivery(broken, 'job.failed'), 'tries', 'many');
  await world.deliverer();
  const job = await world.hooked(receiver.url, END);
  await world.run(job);
  await delivered(world, job);
  expect(await world.redis.zrange(world.keys.undelivered, '0', '-1')).toEqual([`${broken} job.failed`]);
});

test('A webhook of a record that cannot be read waits in the outbox, and the others are delivered', async () => {
  const world = await webhookWorld(server.url);
  const receiver = await webhookReceiver();
  const ids: JobId[] = [];
  for (let i = 0; i < 3; i++) ids.push(await world.hooked(receiver.url, END));
  for (const id of ids) await world.run(id);
  const [newer, ...others] = ids;
  await world.redis.hset(world.keys.record(newer), { v: 2, input: '<input/>' });
  await world.deliverer();
  for (const id of others) await delivered(world, id);
  expect(receiver.received).toHaveLength(2);
  expect(await world.redis.zrange(world.keys.outbox, '0', '-1')).toEqual([`${newer} job.failed`]);
});

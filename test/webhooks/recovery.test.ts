import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { webhookId } from '../../apps/api/src/webhooks/event-message.ts';
import type { JobId } from '../../packages/shared/src/index.ts';
import { bundle } from '../support/bundle.ts';
import { type LehrProcess, startProgram } from '../support/lehr-process.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { SLOW_MACHINE, within } from '../support/timeouts.ts';
import type { WebhookDelivererSettings } from '../support/webhook-deliverer.ts';
import { webhookReceiver } from '../support/webhook-receiver.ts';
import { QUICK_TIMES, SECRET_KEY, type WebhookWorld, webhookWorld } from '../support/webhook-world.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const END = { events: ['job.failed'] };
const namespaceOf = (world: WebhookWorld): string => world.keys.prefix.slice(1, -1);

async function program(world: WebhookWorld): Promise<LehrProcess> {
  const settings: WebhookDelivererSettings = {
    redisUrl: server.url,
    namespace: namespaceOf(world),
    secretKey: SECRET_KEY,
    times: { ...QUICK_TIMES, leaseMs: 1000 },
  };
  const file = await bundle('../support/webhook-deliverer.ts', import.meta.url);
  const deliverer = startProgram(file, {}, [JSON.stringify(settings)]);
  await deliverer.logged('delivers');
  return deliverer;
}

const delivered = (world: WebhookWorld, job: JobId): Promise<void> =>
  vi.waitFor(
    async () =>
      expect((await world.hooks.deliveries.of(job)).map(({ state }) => state)).toEqual(['delivered']),
    SLOW_MACHINE,
  );

test('An attempt whose process is killed is repeated by another process with the same webhook id', async () => {
  const world = await webhookWorld(server.url);
  const receiver = await webhookReceiver();
  receiver.answer('hang');
  const first = await program(world);
  const job = await world.hooked(receiver.url, END);
  await world.run(job);
  await receiver.until(1);
  first.signal('SIGKILL');
  await first.exited();
  await program(world);
  const [lost, found] = await receiver.until(2, 20_000);
  expect([found.id, found.body]).toEqual([lost.id, lost.body]);
  await delivered(world, job);
  expect(receiver.received).toHaveLength(2);
});

test('A webhook is sent although the worker died right after it had written the end of the job', async () => {
  const world = await webhookWorld(server.url);
  const receiver = await webhookReceiver();
  const job = await world.hooked(receiver.url, END);
  const file = await bundle('../support/dying-worker.ts', import.meta.url);
  const worker = startProgram(file, {}, [server.url, namespaceOf(world), job]);
  expect(await worker.exited()).toBe('SIGKILL');
  expect((await world.records.read(job))?.state).toBe('failed');
  await world.deliverer();
  const [received] = await receiver.until(1);
  expect(received.id).toBe(webhookId(job, 'job.failed'));
});

test('A dispatcher that dies between two steps leads to no second webhook id and to no second body', async () => {
  const world = await webhookWorld(server.url);
  const receiver = await webhookReceiver();
  const { outbox, deliveries } = world.hooks;
  const jobs = await Promise.all(Array.from({ length: 3 }, () => world.hooked(receiver.url, END)));
  await Promise.all(jobs.map((job) => world.run(job)));
  // All are taken from the outbox, and two become deliveries.
  expect(await outbox.take({ count: 10, holdMs: 300 })).toHaveLength(3);
  const [, ...opened] = jobs.map((job) => ({
    job,
    event: 'job.failed',
    id: webhookId(job, 'job.failed'),
  }));
  for (const ref of opened) {
    const tenant = 'default' as never;
    await deliveries.open(ref, {
      tenant,
      signer: tenant,
      url: receiver.url,
      body: `"${ref.job}"`,
      retried: '1',
    });
  }
  await world.deliverer();
  await receiver.until(3);
  await Promise.all(jobs.map((job) => delivered(world, job)));
  expect(receiver.received.map(({ id }) => id).sort()).toEqual(
    jobs.map((job) => webhookId(job, 'job.failed')).sort(),
  );
  const bodies = receiver.received.map(({ body }) => body);
  for (const { job } of opened) expect(bodies).toContain(`"${job}"`);
  expect(await deliveries.counts()).toEqual({ outbox: 0, undelivered: 0 });
});

test('A redelivery is made at once although the next attempt is due in an hour', async () => {
  const world = await webhookWorld(server.url);
  const receiver = await webhookReceiver();
  receiver.answer({ status: 429, headers: { 'retry-after': '3600' } });
  await world.deliverer({ times: { pollMs: 60_000 } });
  const job = await world.hooked(receiver.url, END);
  await world.run(job);
  await receiver.until(1);
  await vi.waitFor(
    async () => expect(await world.hooks.deliveries.attempts(job)).toHaveLength(1),
    SLOW_MACHINE,
  );
  const [delivery] = await world.hooks.deliveries.of(job);
  await world.hooks.receivers.reopen(delivery);
  await world.hooks.deliveries.restart(delivery);
  await receiver.until(2);
  await delivered(world, job);
});

test('An event that happens twice is delivered once', async () => {
  const world = await webhookWorld(server.url);
  const receiver = await webhookReceiver();
  await world.deliverer();
  const job = await world.hooked(receiver.url, { events: ['job.started', 'job.failed'] });
  const start = (lease: string) =>
    world.records.apply([
      { move: 'start', id: job, lease: lease as never, fields: { worker: world.worker } },
    ]);
  await start('one');
  await receiver.until(1);
  await vi.waitFor(
    async () => expect(await world.hooks.deliveries.counts()).toEqual({ outbox: 0, undelivered: 0 }),
    SLOW_MACHINE,
  );
  await world.records.apply([{ move: 'requeue', id: job }]);
  await start('two');
  const error = { code: 'numeric-error', title: 'Bad numbers', detail: 'NaN', retryable: false };
  await world.records.apply([{ move: 'fail', id: job, lease: 'two' as never, fields: { error } }]);
  const received = await receiver.until(2);
  await vi.waitFor(
    async () => expect(await world.hooks.deliveries.counts()).toEqual({ outbox: 0, undelivered: 0 }),
    SLOW_MACHINE,
  );
  expect(received.map(({ body }) => JSON.parse(body).type)).toEqual(['job.started', 'job.failed']);
});

test('Several processes share the deliveries and send none twice', async () => {
  const world = await webhookWorld(server.url);
  const receiver = await webhookReceiver();
  // Long: events of a process that gets no CPU time must not be taken by another one.
  const times = { holdMs: 60_000 };
  const deliverers = await Promise.all(Array.from({ length: 3 }, () => world.deliverer({ times })));
  const jobs = await Promise.all(Array.from({ length: 60 }, () => world.hooked(receiver.url, END)));
  await Promise.all(jobs.map((job) => world.run(job)));
  await receiver.until(60, 30_000);
  await vi.waitFor(
    async () => expect(await world.hooks.deliveries.counts()).toEqual({ outbox: 0, undelivered: 0 }),
    SLOW_MACHINE,
  );
  expect(receiver.received).toHaveLength(60);
  expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(60);
  const delivered = async (): Promise<number> => {
    const pages = await Promise.all(deliverers.map(({ page }) => page.render()));
    const counts = pages.map((page) =>
      Number(/deliveries_total\{outcome="delivered"\} (\d+)/.exec(page)?.[1] ?? 0),
    );
    return counts.reduce((sum, count) => sum + count);
  };
  // A process counts a delivery when Redis has answered it.
  await vi.waitFor(async () => expect(await delivered()).toBe(60), SLOW_MACHINE);
});

test('An attempt that a stopping process aborts is made by another process and not counted', async () => {
  const world = await webhookWorld(server.url);
  const receiver = await webhookReceiver();
  receiver.answer('hang');
  const { delivery } = await world.deliverer({ timeoutMs: 60_000 });
  const job = await world.hooked(receiver.url, END);
  await world.run(job);
  await receiver.until(1);
  // The attempt itself may take a minute.
  await within(2000, 'the stop', delivery.stop(50));
  await world.deliverer();
  await receiver.until(2);
  await delivered(world, job);
  expect(await world.hooks.deliveries.attempts(job)).toHaveLength(1);
});

test('After Redis was killed and restarted, all deliveries are made soon', async () => {
  const own = await startRedis(['--appendfsync', 'always']);
  onTestFinished(() => own.stop());
  const world = await webhookWorld(own.url);
  const receiver = await webhookReceiver();
  receiver.answer(500, 500);
  await world.deliverer({ times: { retryDelaysMs: [300, 300, 300, 300], leaseMs: 1000 } });
  const jobs = await Promise.all(Array.from({ length: 40 }, () => world.hooked(receiver.url, END)));
  const [late, ...early] = jobs;
  const running = Promise.all(early.map((job) => world.run(job)));
  await receiver.until(5);
  await own.kill();
  await own.restart();
  const backAt = performance.now();
  await running;
  await world.run(late);
  await Promise.all(jobs.map((job) => delivered(world, job)));
  expect(performance.now() - backAt).toBeLessThan(10_000);
});

test('Deleting a job deletes its deliveries, also the running ones', async () => {
  const world = await webhookWorld(server.url);
  const receiver = await webhookReceiver();
  receiver.answer(500, 'hang');
  await world.deliverer({ timeoutMs: 300 });
  const job = await world.hooked(receiver.url, END);
  await world.run(job);
  await receiver.until(2);
  await world.hooks.deliveries.delete(job);
  const other = await world.hooked(receiver.url, END);
  await world.run(other);
  await delivered(world, other);
  const { prefix } = world.keys;
  const kinds = ['delivery', 'attempts', 'webhooks'];
  await vi.waitFor(async () => {
    const left = await Promise.all(kinds.map((kind) => world.redis.keys(`${prefix}:${kind}:*${job}*`)));
    expect(left.flat()).toEqual([]);
  }, SLOW_MACHINE);
});

test('Progress is sent as it is now, with a limited rate, and never after the end', async () => {
  const world = await webhookWorld(server.url);
  const receiver = await webhookReceiver();
  const render = async (record: object) => record;
  await world.deliverer({
    renderers: { replicate: { render, retries: (event) => event !== 'job.progress' } },
  });
  const events = ['job.progress', 'job.failed'];
  const job = await world.hooked(receiver.url, { events, dialect: 'replicate' });
  const lease = 'one' as never;
  await world.records.apply([{ move: 'start', id: job, lease, fields: { worker: world.worker } }]);
  const startedAt = performance.now();
  for (let step = 1; step <= 50; step++) {
    const progress = { fraction: step / 50, stage: 'denoise', step, steps: 50 };
    await world.records.apply([{ move: 'progress', id: job, lease, fields: { progress } }]);
    if (step % 10 === 0) await receiver.until(step / 10);
  }
  const tookMs = performance.now() - startedAt;
  await vi.waitFor(
    () => expect(JSON.parse(receiver.received.at(-1)?.body ?? '{}').progress.step).toBe(50),
    SLOW_MACHINE,
  );
  const sent = receiver.received.length;
  expect(sent).toBeLessThanOrEqual(2 + tookMs / QUICK_TIMES.progressEveryMs);
  const error = { code: 'numeric-error', title: 'Bad numbers', detail: 'NaN', retryable: false };
  await world.records.apply([{ move: 'fail', id: job, lease, fields: { error } }]);
  await receiver.until(sent + 1);
  await vi.waitFor(
    async () => expect(await world.hooks.deliveries.counts()).toEqual({ outbox: 0, undelivered: 0 }),
    SLOW_MACHINE,
  );
  const steps = receiver.received.slice(0, -1).map(({ body }) => JSON.parse(body).progress.step);
  expect(steps).toEqual([...steps].sort((a, b) => a - b));
  expect(JSON.parse(receiver.received.at(-1)?.body ?? '{}').state).toBe('failed');
  expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(sent + 1);
});

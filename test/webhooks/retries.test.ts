import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { JobId, Log } from '../../packages/shared/src/index.ts';
import { silentLog } from '../../packages/shared/src/index.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { SLOW_MACHINE } from '../support/timeouts.ts';
import { type Answer, type Received, verified, webhookReceiver } from '../support/webhook-receiver.ts';
import { type WebhookWorld, webhookWorld } from '../support/webhook-world.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const DAY_MS = 24 * 3_600_000;
const ENDS = { events: ['job.failed'] };

/** The state of the delivery of a job's end, once it has ended. */
const endOf = (world: WebhookWorld, job: JobId): Promise<string> =>
  vi.waitFor(
    async () => {
      const [delivery] = await world.hooks.deliveries.of(job);
      if (!delivery || delivery.state === 'pending') throw new Error(`the delivery is ${delivery?.state}`);
      return delivery.state;
    },
    { timeout: 10_000, interval: 10 },
  );

async function failedJob(world: WebhookWorld, url: string, webhook: object = ENDS): Promise<JobId> {
  const id = await world.hooked(url, webhook);
  await world.run(id);
  return id;
}

const gaps = (received: readonly Received[]): number[] =>
  received.slice(1).map(({ at }, i) => at - received[i].at);

const BAD: Answer[] = [
  500,
  404,
  301,
  'cut',
  'hang',
  'drip',
  { status: 302, headers: { location: 'http://169.254.169.254/latest/meta-data/' } },
];

describe('a failed attempt', () => {
  test('A failed attempt is retried with the same id and bytes and a new signature until one succeeds', async () => {
    const world = await webhookWorld(server.url);
    const receiver = await webhookReceiver();
    receiver.answer(...BAD);
    await world.deliverer({ timeoutMs: 1500, times: { retryDelaysMs: Array(BAD.length).fill(10) } });
    const job = await failedJob(world, receiver.url);
    const received = await receiver.until(BAD.length + 1);
    expect(await endOf(world, job)).toBe('delivered');
    expect(new Set(received.map(({ id }) => id)).size).toBe(1);
    expect(new Set(received.map(({ body }) => body)).size).toBe(1);
    const secret = await world.signing();
    for (const each of received) expect(await verified(each, secret)).toBe(true);
    expect(new Set(received.map(({ signature }) => signature)).size).toBeGreaterThanOrEqual(
      new Set(received.map(({ timestamp }) => timestamp)).size,
    );
    const log = await world.hooks.deliveries.attempts(job);
    expect(log.map(({ status, error }) => status ?? error)).toEqual([
      500,
      404,
      301,
      'The connection failed.',
      'There was no complete answer in time.',
      'There was no complete answer in time.',
      302,
      204,
    ]);
    expect(receiver.received).toHaveLength(BAD.length + 1);
  });

  test('Retries follow the delays of the schedule', async () => {
    const world = await webhookWorld(server.url);
    const receiver = await webhookReceiver(500);
    await world.deliverer({ times: { retryDelaysMs: [100, 300, 600] } });
    const job = await failedJob(world, receiver.url);
    const between = gaps(await receiver.until(4));
    for (const [i, delayMs] of [100, 300, 600].entries()) {
      expect(between[i]).toBeGreaterThan(delayMs * 0.9 - 10);
      // The delays by default are 5 s and more.
      expect(between[i]).toBeLessThan(delayMs * 1.1 + 4000);
    }
    expect(await endOf(world, job)).toBe('failed');
  });

  test('A delivery fails after its last attempt and is logged and counted', async () => {
    const world = await webhookWorld(server.url);
    const receiver = await webhookReceiver({ status: 500, body: `sorry ${'x'.repeat(5000)}` });
    const lines: [object, string][] = [];
    const warn: Log['warn'] = (fields, message) => {
      if (message === 'webhook failed after its last attempt') lines.push([fields, message]);
    };
    const log: Log = { ...silentLog, warn };
    const { page } = await world.deliverer({ log });
    const job = await failedJob(world, receiver.url);
    expect(await endOf(world, job)).toBe('failed');
    const [delivery] = await world.hooks.deliveries.of(job);
    await expect
      .poll(() => lines)
      .toEqual([
        [
          { job, event: 'job.failed', id: delivery.id, host: new URL(receiver.url).host },
          'webhook failed after its last attempt',
        ],
      ]);
    const attempts = await world.hooks.deliveries.attempts(job);
    expect(attempts).toHaveLength(4);
    for (const attempt of attempts) {
      expect(attempt).toMatchObject({
        webhook_id: delivery.id,
        event: 'job.failed',
        status: 500,
        error: null,
      });
      expect(attempt.answer).toMatch(/^sorry x{1018}$/);
    }
    const metrics = await page.render();
    expect(metrics).toContain('lehr_webhook_deliveries_total{outcome="failed"} 1\n');
    expect(metrics).toContain('lehr_webhook_attempts_total{outcome="5xx"} 4\n');
    expect(metrics).toContain('lehr_webhook_attempt_duration_seconds_count 4\n');
    expect(await world.hooks.deliveries.counts()).toEqual({ outbox: 0, undelivered: 0 });
  });

  test('A damaged entry in the log of attempts is left out alone', async () => {
    const world = await webhookWorld(server.url);
    const receiver = await webhookReceiver(204);
    await world.deliverer();
    const job = await failedJob(world, receiver.url);
    expect(await endOf(world, job)).toBe('delivered');
    for (const damaged of ['not JSON', '{}', '']) await world.redis.rpush(world.keys.attempts(job), damaged);
    expect((await world.hooks.deliveries.attempts(job)).map(({ status }) => status)).toEqual([204]);
  });

  test('A failed attempt is not retried if its dialect has no retries', async () => {
    const world = await webhookWorld(server.url);
    const receiver = await webhookReceiver(500);
    const once = { render: async () => ({ once: true }), retries: () => false };
    await world.deliverer({ renderers: { replicate: once } });
    const job = await failedJob(world, receiver.url, { ...ENDS, dialect: 'replicate' });
    expect(await endOf(world, job)).toBe('failed');
    expect(receiver.received.map(({ body }) => body)).toEqual(['{"once":true}']);
  });
});

describe('a closed receiver', () => {
  test('A URL that replied 410 gets no deliveries until it is opened again', async () => {
    const world = await webhookWorld(server.url);
    const receiver = await webhookReceiver();
    receiver.answer(410);
    const { page } = await world.deliverer();
    const first = await failedJob(world, receiver.url);
    expect(await endOf(world, first)).toBe('gone');
    const second = await failedJob(world, receiver.url);
    expect(await endOf(world, second)).toBe('gone');
    expect(receiver.received).toHaveLength(1);
    expect(await world.hooks.deliveries.attempts(second)).toEqual([]);
    expect(await page.render()).toContain('lehr_webhook_deliveries_total{outcome="gone"} 2\n');
    // Another URL of the same host, and the same URL of another tenant, stay open.
    const other = await world.hooked(`${receiver.url}/other`, ENDS);
    const strangers = await world.hooked(receiver.url, ENDS, 'stranger' as never);
    await world.run(other);
    await world.run(strangers);
    await receiver.until(3);
    await world.hooks.receivers.markHealthy((await world.hooks.deliveries.of(first))[0]);
    const third = await failedJob(world, receiver.url);
    expect(await endOf(world, third)).toBe('delivered');
  });

  test('A URL is closed after days without a success, not after single failures', async () => {
    const world = await webhookWorld(server.url);
    const [dead, moody] = [await webhookReceiver(500), await webhookReceiver(500)];
    await world.deliverer({ times: { closeAfterMs: 5 * DAY_MS } });
    expect(await endOf(world, await failedJob(world, dead.url))).toBe('failed');
    await daysLater(world, 6);
    // The last delivery with attempts: none has succeeded since the first.
    expect(await endOf(world, await failedJob(world, dead.url))).toBe('failed');
    expect(await endOf(world, await failedJob(world, dead.url))).toBe('gone');

    expect(await endOf(world, await failedJob(world, moody.url))).toBe('failed');
    await daysLater(world, 4);
    moody.answer(204);
    expect(await endOf(world, await failedJob(world, moody.url))).toBe('delivered');
    expect(await endOf(world, await failedJob(world, moody.url))).toBe('failed');
    await daysLater(world, 4);
    expect(await endOf(world, await failedJob(world, moody.url))).toBe('failed');
    moody.answer(204);
    expect(await endOf(world, await failedJob(world, moody.url))).toBe('delivered');
  });
});

/** Moves the first failure of each receiver to an earlier day. */
async function daysLater({ redis, keys }: WebhookWorld, days: number): Promise<void> {
  for (const key of await redis.keys(`${keys.prefix}:hook-gone:*`)) {
    await redis.hincrby(key, 'failing_since', -days * DAY_MS);
  }
}

describe('a busy receiver', () => {
  test.each([429, 502, 503, 504])(
    'A receiver that replied %i is paused for its Retry-After, and other receivers are not',
    async (status) => {
      const world = await webhookWorld(server.url);
      const [busy, quick] = [await webhookReceiver(), await webhookReceiver()];
      busy.answer({ status, headers: { 'retry-after': '3' } });
      await world.deliverer();
      await failedJob(world, busy.url);
      const [first] = await busy.until(1);
      await vi.waitFor(
        async () =>
          expect(
            (await world.hooks.receivers.statusOf({ tenant: 'default' as never, url: busy.url })).pausedMs,
          ).not.toBe(0),
        SLOW_MACHINE,
      );
      await failedJob(world, `${busy.url}/other`);
      await failedJob(world, quick.url);
      const [unhurt] = await quick.until(1);
      for (const { at } of (await busy.until(3)).slice(1)) {
        expect(at - first.at).toBeGreaterThan(2950);
        expect(at).toBeGreaterThan(unhurt.at);
      }
    },
  );

  test.each([500, 400])('Retry-After in a reply with status %i is ignored', async (status) => {
    const world = await webhookWorld(server.url);
    const receiver = await webhookReceiver();
    receiver.answer({ status, headers: { 'retry-after': '3600' } });
    await world.deliverer();
    expect(await endOf(world, await failedJob(world, receiver.url))).toBe('delivered');
  });
});

describe('a slow receiver', () => {
  test('A hundred deliveries that hang do not delay a hundred deliveries to another receiver', async () => {
    const world = await webhookWorld(server.url);
    const [hanging, quick] = [await webhookReceiver('hang'), await webhookReceiver()];
    await world.deliverer({ timeoutMs: 60_000 });
    const stuck = await Promise.all(Array.from({ length: 100 }, () => world.hooked(hanging.url, ENDS)));
    const jobs = await Promise.all(Array.from({ length: 100 }, () => world.hooked(quick.url, ENDS)));
    await Promise.all(stuck.map((id) => world.run(id)));
    await hanging.until(8);
    await Promise.all(jobs.map((id) => world.run(id)));
    await quick.until(100, 30_000);
    expect(new Set(quick.received.map(({ id }) => id)).size).toBe(100);
    expect([hanging.received.length, hanging.open]).toEqual([8, 8]);
  });

  test('A slow URL does not delay another tenant that uses the same host', async () => {
    const world = await webhookWorld(server.url);
    const receiver = await webhookReceiver('hang');
    await world.deliverer({ timeoutMs: 60_000 });
    await Promise.all(Array.from({ length: 20 }, () => failedJob(world, receiver.url)));
    await receiver.until(8);
    const theirs = await world.hooked(receiver.url, ENDS, 'stranger' as never);
    await world.run(theirs);
    const received = await receiver.until(9);
    expect(received.map(({ body }) => JSON.parse(body).data.id)).toContain(theirs);
  });
});

test('A redirect to a metadata service is a failure and leads to no connection', async () => {
  const world = await webhookWorld(server.url);
  const receiver = await webhookReceiver({
    status: 302,
    headers: { location: 'http://169.254.169.254/latest/meta-data/' },
  });
  const { Socket } = await import('node:net');
  const connect = vi.spyOn(Socket.prototype, 'connect');
  await world.deliverer();
  expect(await endOf(world, await failedJob(world, receiver.url))).toBe('failed');
  const hosts = connect.mock.calls.map(([options]) => (options as unknown as { host?: string }[])[0].host);
  connect.mockRestore();
  expect(receiver.received).toHaveLength(4);
  expect(new Set(hosts)).toEqual(new Set(['127.0.0.1']));
});

test('A URL that the egress rules forbid fails like any other, and its error gives no details', async () => {
  const world = await webhookWorld(server.url);
  const { createEgress } = await import('../../packages/shared/src/egress/index.ts');
  await world.deliverer({ egress: createEgress() });
  const receiver = await webhookReceiver();
  const job = await failedJob(world, receiver.url);
  expect(await endOf(world, job)).toBe('failed');
  expect(receiver.received).toEqual([]);
  const [attempt] = await world.hooks.deliveries.attempts(job);
  expect(attempt).toMatchObject({
    status: null,
    answer: '',
    error: expect.stringContaining('Lehr does not connect to this address; LEHR_EGRESS_ALLOW'),
  });
});

import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { nativeRenderer } from '../../apps/api/src/dialects/native/native-renderer.ts';
import { openWebhooks } from '../../apps/api/src/webhooks/parts.ts';
import {
  DeliveryLogSchema,
  DeliverySchema,
  END_EVENTS,
  type Job,
  type JobId,
  WebhookBodySchema,
} from '../../packages/shared/src/index.ts';
import { type ApiWorld, apiWorld, problemOf } from '../support/api-world.ts';
import { shared } from '../support/cleanup.ts';
import { keyHolder } from '../support/key-holder.ts';
import { MALFORMED_URLS, PRIVATE_URLS } from '../support/private-urls.ts';
import { freshKeys, startRedis, type TestRedis, testRedis } from '../support/redis.ts';
import { SLOW_MACHINE } from '../support/timeouts.ts';
import { verified, type WebhookReceiver, webhookReceiver } from '../support/webhook-receiver.ts';
import { startDeliverer, webhookOptions } from '../support/webhook-world.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

/** An API whose webhooks may go to loopback, and a process that delivers them. */
async function hookedApi(timeoutMs = 500): Promise<ApiWorld> {
  const keys = freshKeys();
  const webhooks = openWebhooks(testRedis(server.url, 'api'), {
    ...webhookOptions(keys),
    timeoutMs,
  });
  const world = await apiWorld(server.url, { keys, webhooks });
  await startDeliverer(server.url, world.parts, {
    timeoutMs: 20_000,
    renderers: { native: nativeRenderer(world.parts.presenter) },
  });
  return world;
}

const secretOf = async (world: ApiWorld): Promise<string> => {
  const response = await world.ask('POST', '/v1/webhooks/secret');
  return ((await response.json()) as { key: string }).key;
};

const logOf = async (world: ApiWorld, id: string) =>
  DeliveryLogSchema.strict().parse(await (await world.ask('GET', `/v1/jobs/${id}/webhook`)).json());

async function succeededJob(world: ApiWorld, receiver: WebhookReceiver, events?: string[]): Promise<Job> {
  const job = await world.post({}, { webhook: { url: receiver.url, events } });
  await world.worker.succeed(await world.worker.take());
  return job;
}

const delivered = (world: ApiWorld, id: string, attempts: number) =>
  vi.waitFor(async () => {
    const log = await logOf(world, id);
    expect(log.deliveries.map(({ state }) => state)).toEqual(['delivered']);
    expect(log.attempts).toHaveLength(attempts);
    return log;
  }, SLOW_MACHINE);

describe('a job with a webhook', () => {
  test("The webhook of a job's end has the job as the API shows it", async () => {
    const world = await hookedApi();
    const receiver = await webhookReceiver();
    const job = await succeededJob(world, receiver);
    expect(job.webhook).toEqual({ url: receiver.url, events: [...END_EVENTS] });
    const [received] = await receiver.until(1);
    expect(await verified(received, await secretOf(world))).toBe(true);
    const body = WebhookBodySchema.strict().parse(JSON.parse(received.body));
    const polled = await world.get(job.id);
    expect(body).toMatchObject({ type: 'job.succeeded', timestamp: polled.finished_at });
    expect(body.data).toMatchObject({ ...polled, output: expect.anything(), links: expect.anything() });
    const [image] = body.data.output?.images ?? [];
    expect(await (await world.app.request(image.url)).text()).toBe('not really a png');
  });

  test('Each webhook has the job as it was at the event', async () => {
    const world = await hookedApi();
    const receiver = await webhookReceiver();
    await succeededJob(world, receiver, ['job.queued', 'job.started', 'job.succeeded']);
    const bodies = (await receiver.until(3)).map(({ body }) =>
      WebhookBodySchema.strict().parse(JSON.parse(body)),
    );
    // Each is its own request, so they may arrive in another order than they happened in.
    const order = ['job.queued', 'job.started', 'job.succeeded'];
    bodies.sort((a, b) => order.indexOf(a.type) - order.indexOf(b.type));
    const times = bodies.map(({ timestamp }) => timestamp);
    expect(times).toEqual([...times].sort());
    expect(bodies.map(({ type, data }) => [type, data.status, data.attempt])).toEqual([
      ['job.queued', 'queued', 0],
      ['job.started', 'running', 1],
      ['job.succeeded', 'succeeded', 1],
    ]);
    expect(bodies[1].data).toMatchObject({ finished_at: null, output: null, metrics: null });
  });

  test('A cancelled job sends its webhook, and no event is sent that the job did not ask for', async () => {
    const world = await hookedApi();
    const receiver = await webhookReceiver();
    const quiet = await world.post({}, { webhook: { url: receiver.url, events: ['job.succeeded'] } });
    await world.ask('POST', `/v1/jobs/${quiet.id}/cancel`);
    const loud = await world.post({}, { webhook: { url: receiver.url } });
    await world.ask('POST', `/v1/jobs/${loud.id}/cancel`);
    await delivered(world, loud.id, 1);
    expect(receiver.received.map(({ body }) => JSON.parse(body).data.id)).toEqual([loud.id]);
    expect(await logOf(world, quiet.id)).toEqual({ deliveries: [], attempts: [] });
  });

  test('A webhook body is at most 20 kB and names the fields that were left out', async () => {
    const world = await hookedApi();
    const receiver = await webhookReceiver();
    const metadata = Object.fromEntries(
      Array.from({ length: 30 }, (_, i) => [`label ${i}`, 'x'.repeat(500)]),
    );
    const prompt = '☕'.repeat(4000);
    await world.post({ prompt }, { metadata, webhook: { url: receiver.url } });
    await world.worker.succeed(await world.worker.take());
    const [{ body }] = await receiver.until(1);
    expect(Buffer.byteLength(body)).toBeLessThan(20_500);
    const { data } = WebhookBodySchema.strict().parse(JSON.parse(body));
    expect(data).toMatchObject({ metadata, input: {}, left_out: ['input'] });
    expect(data.output?.images).toHaveLength(1);
  });

  const idle = shared(() => apiWorld(server.url));

  test.each([...PRIVATE_URLS, ...MALFORMED_URLS])(
    'A job with the webhook URL %s is refused at once',
    async (url) => {
      const body = { type: 'text-to-image', input: { prompt: 'x' }, webhook: { url } };
      const response = await idle.ask('POST', '/v1/jobs', body);
      expect(response.status).toBe(422);
      const { errors } = await problemOf(response);
      expect(errors?.map(({ pointer }) => pointer)).toEqual(['/webhook/url']);
      expect(await (await idle.ask('GET', '/v1/jobs')).json()).toMatchObject({ data: [] });
    },
  );

  test('A public https URL is accepted without a DNS lookup', async () => {
    const world = await apiWorld(server.url);
    const job = await world.post({}, { webhook: { url: 'https://nobody.invalid/hook?a=b' } });
    expect(job.webhook?.url).toBe('https://nobody.invalid/hook?a=b');
  });

  test.each([{ events: [] }, { events: ['job.progress'] }, { events: ['job.done'] }, { secret: 'x' }])(
    'A job with the webhook fields %j is refused',
    async (wrong) => {
      const webhook = { url: 'https://app.example/hook', ...wrong };
      const body = { type: 'text-to-image', input: { prompt: 'x' }, webhook };
      expect((await idle.ask('POST', '/v1/jobs', body)).status).toBe(422);
    },
  );
});

describe('the log of deliveries', () => {
  test('The delivery log has every event and every attempt with the start of the reply', async () => {
    const world = await hookedApi();
    const receiver = await webhookReceiver();
    receiver.answer({ status: 503, body: `busy ${'x'.repeat(2000)}`, headers: { 'retry-after': '0' } });
    const { id } = await succeededJob(world, receiver);
    const { deliveries, attempts } = await delivered(world, id, 2);
    const [{ webhook_id }] = deliveries;
    expect(deliveries).toEqual([
      {
        webhook_id,
        event: 'job.succeeded',
        url: receiver.url,
        state: 'delivered',
        created_at: expect.any(String),
        attempts: 2,
        next_attempt_at: null,
      },
    ]);
    expect(receiver.received.map((each) => each.id)).toEqual([webhook_id, webhook_id]);
    expect(attempts.map(({ status, error }) => [status, error])).toEqual([
      [503, null],
      [204, null],
    ]);
    expect(attempts[0].answer).toMatch(/^busy x{1019}$/);
  });

  test('The delivery log has the time of the next attempt', async () => {
    const world = await hookedApi();
    const receiver = await webhookReceiver({ status: 429, headers: { 'retry-after': '3600' } });
    const { id } = await succeededJob(world, receiver);
    const due = await vi.waitFor(async () => {
      const [delivery] = (await logOf(world, id)).deliveries;
      expect(delivery).toMatchObject({ state: 'pending', attempts: 1 });
      return delivery.next_attempt_at;
    }, SLOW_MACHINE);
    expect(Math.abs(Date.parse(due ?? '') - Date.now() - 3_600_000)).toBeLessThan(10_000);
    const page = await (await world.app.request('/metrics')).text();
    expect(page).toContain('lehr_webhooks_pending{stage="delivery"} 1\n');
    expect(page).toContain('lehr_webhooks_pending{stage="outbox"} 0\n');
  });

  test('The delivery log can be read while a delivery is pending, and only by the owner of the job', async () => {
    const world = await hookedApi();
    const receiver = await webhookReceiver({ status: 429, headers: { 'retry-after': '3600' } });
    const { id } = await succeededJob(world, receiver);
    await receiver.until(1);
    await world.parts.redis.del(world.parts.keys.record(id as JobId));
    expect((await logOf(world, id)).deliveries).toHaveLength(1);
    const stranger = await keyHolder(world, 'other');
    for (const [method, path] of [
      ['GET', `/v1/jobs/${id}/webhook`],
      ['POST', `/v1/jobs/${id}/webhook/redeliver`],
    ]) {
      expect((await stranger.ask(method, path)).status).toBe(404);
    }
  });

  test('The delivery log is deleted with its job', async () => {
    const world = await hookedApi();
    const receiver = await webhookReceiver();
    const { id } = await succeededJob(world, receiver);
    await delivered(world, id, 1);
    expect((await world.ask('DELETE', `/v1/jobs/${id}`)).status).toBe(204);
    expect((await world.ask('GET', `/v1/jobs/${id}/webhook`)).status).toBe(404);
  });
});

describe('redelivery', () => {
  test('Redelivery sends the last event with its id and bytes unchanged and a new signature', async () => {
    const world = await hookedApi();
    const receiver = await webhookReceiver();
    const { id } = await succeededJob(world, receiver);
    const { deliveries } = await delivered(world, id, 1);
    const response = await world.ask('POST', `/v1/jobs/${id}/webhook/redeliver`);
    expect(response.status).toBe(202);
    expect(DeliverySchema.strict().parse(await response.json())).toMatchObject({
      webhook_id: deliveries[0].webhook_id,
      event: 'job.succeeded',
    });
    const [first, second] = await receiver.until(2);
    expect([second.id, second.body]).toEqual([first.id, first.body]);
    expect(await verified(second, await secretOf(world))).toBe(true);
    await delivered(world, id, 2);
  });

  test('Redelivery sends at once a delivery that is waiting for a retry, and one that was dropped', async () => {
    const world = await hookedApi();
    const receiver = await webhookReceiver();
    receiver.answer({ status: 429, headers: { 'retry-after': '3600' } });
    const waiting = await succeededJob(world, receiver);
    await vi.waitFor(
      async () => expect((await logOf(world, waiting.id)).attempts).toHaveLength(1),
      SLOW_MACHINE,
    );
    await world.ask('POST', `/v1/jobs/${waiting.id}/webhook/redeliver`);
    await delivered(world, waiting.id, 2);

    receiver.answer(410);
    const dropped = await succeededJob(world, receiver);
    await vi.waitFor(
      async () => expect((await logOf(world, dropped.id)).deliveries[0].state).toBe('gone'),
      SLOW_MACHINE,
    );
    await world.ask('POST', `/v1/jobs/${dropped.id}/webhook/redeliver`);
    await delivered(world, dropped.id, 2);
  });

  test('Redelivery sends once more after the running attempt, even if that one succeeds', async () => {
    const world = await hookedApi();
    const receiver = await webhookReceiver();
    let answer = () => {};
    const after = new Promise<void>((resolve) => {
      answer = resolve;
    });
    receiver.answer({ status: 200, after });
    const { id } = await succeededJob(world, receiver);
    await receiver.until(1);
    expect((await world.ask('POST', `/v1/jobs/${id}/webhook/redeliver`)).status).toBe(202);
    answer();
    const [first, second] = await receiver.until(2);
    expect([second.id, second.body]).toEqual([first.id, first.body]);
    const { attempts } = await delivered(world, id, 2);
    expect(attempts.map(({ status }) => status)).toEqual([200, 204]);
  });

  test('Redelivery of a job without webhook events is a conflict, and of an unknown job 404', async () => {
    const world = await apiWorld(server.url);
    const job = await world.post();
    const conflict = await world.ask('POST', `/v1/jobs/${job.id}/webhook/redeliver`);
    expect(conflict.status).toBe(409);
    expect(await problemOf(conflict)).toMatchObject({ type: 'urn:lehr:problem:conflict' });
    expect((await world.ask('POST', '/v1/jobs/job_0/webhook/redeliver')).status).toBe(404);
  });
});

describe('the secret', () => {
  test('A webhook secret is shown once and listed without its value', async () => {
    const world = await apiWorld(server.url);
    const first = await world.ask('POST', '/v1/webhooks/secret');
    expect(first.status).toBe(201);
    expect(first.headers.get('cache-control')).toBe('no-store');
    const { key, created_at } = (await first.json()) as { key: string; created_at: string };
    expect(key).toMatch(/^whsec_/);
    expect((await world.ask('POST', '/v1/webhooks/secret')).status).toBe(409);
    const list = await (await world.ask('GET', '/v1/webhooks/secret')).text();
    expect(JSON.parse(list)).toEqual({ object: 'list', data: [{ created_at, expires_at: null }] });
  });

  test('After a rotation the old and the new webhook secret sign for a day', async () => {
    const world = await hookedApi();
    const receiver = await webhookReceiver();
    const old = await secretOf(world);
    const rotated = await world.ask('POST', '/v1/webhooks/secret/rotate');
    expect(rotated.status).toBe(201);
    const { key } = (await rotated.json()) as { key: string };
    await succeededJob(world, receiver);
    const [received] = await receiver.until(1);
    expect(await verified(received, key)).toBe(true);
    expect(await verified(received, old)).toBe(true);
    const { data } = (await (await world.ask('GET', '/v1/webhooks/secret')).json()) as {
      data: { expires_at: string | null }[];
    };
    expect(data[0].expires_at).toBeNull();
    expect(Math.abs(Date.parse(data[1].expires_at ?? '') - Date.now() - 86_400_000)).toBeLessThan(10_000);
  });
});

describe('a test delivery', () => {
  test('A test delivery is signed, and its response has the reply of the receiver', async () => {
    const world = await hookedApi();
    const receiver = await webhookReceiver();
    receiver.answer({ status: 200, body: 'fine' }, 500);
    const ask = async () => (await world.ask('POST', '/v1/webhooks/test', { url: receiver.url })).json();
    expect(await ask()).toMatchObject({ delivered: true, status: 200, answer: 'fine', error: null });
    expect(await ask()).toMatchObject({ delivered: false, status: 500 });
    const [received, another] = receiver.received;
    expect(await verified(received, await secretOf(world))).toBe(true);
    expect(JSON.parse(received.body)).toMatchObject({ type: 'webhook.test', data: {} });
    expect(received.id).not.toBe(another.id);
  });

  test('A test delivery to a forbidden URL is refused', async () => {
    const world = await apiWorld(server.url);
    for (const url of ['http://127.0.0.1/', 'https://169.254.169.254/', 'https://u@app.example/']) {
      const response = await world.ask('POST', '/v1/webhooks/test', { url });
      expect(response.status).toBe(422);
      expect((await problemOf(response)).errors?.[0].pointer).toBe('/url');
    }
  });

  test('A tenant can run two test deliveries at once and is refused a third', async () => {
    const world = await hookedApi(3000);
    const receiver = await webhookReceiver('hang');
    const ask = () => world.ask('POST', '/v1/webhooks/test', { url: receiver.url });
    const held = [ask(), ask()];
    await receiver.until(2);
    const response = await ask();
    expect(response.status).toBe(429);
    expect(response.headers.get('retry-after')).toBe('1');
    for (const each of await Promise.all(held)) {
      expect(await each.json()).toMatchObject({ delivered: false, status: null });
    }
  });

  test('A test delivery that succeeds opens a closed receiver', async () => {
    const world = await hookedApi();
    const receiver = await webhookReceiver();
    receiver.answer(410);
    const first = await succeededJob(world, receiver);
    await vi.waitFor(
      async () => expect((await logOf(world, first.id)).deliveries[0].state).toBe('gone'),
      SLOW_MACHINE,
    );
    await world.ask('POST', '/v1/webhooks/test', { url: receiver.url });
    const second = await succeededJob(world, receiver);
    await delivered(world, second.id, 1);
  });
});

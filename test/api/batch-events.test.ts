/** What a batch tells those who follow it, and a receiver when it has ended, over a real Redis and a real store. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { feedBatches } from '../../apps/api/src/batches/feeder.ts';
import { openWebhooks } from '../../apps/api/src/webhooks/parts.ts';
import {
  type Batch,
  type BatchEvent,
  BatchEventSchema,
  type BatchId,
  BatchSchema,
  BatchWebhookBodySchema,
  DeliveryLogSchema,
  type JobId,
} from '../../packages/shared/src/index.ts';
import { type ApiWorld, apiWorld, problemOf } from '../support/api-world.ts';
import { whenDone } from '../support/cleanup.ts';
import { keyHolder } from '../support/key-holder.ts';
import { freshKeys, startRedis, type TestRedis, testRedis } from '../support/redis.ts';
import { verified, webhookReceiver } from '../support/webhook-receiver.ts';
import { startDeliverer, webhookOptions } from '../support/webhook-world.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const QUEUE = 'diffusion.tiny@1.64x64';
const requests = [{ type: 'text-to-image', input: { prompt: 'a' } }];

async function batchWorld(): Promise<ApiWorld> {
  const keys = freshKeys();
  // Receivers of tests listen on loopback.
  const webhooks = openWebhooks(testRedis(server.url, 'api'), webhookOptions(keys));
  const world = await apiWorld(server.url, { keys, webhooks });
  await world.worker.report();
  return world;
}

async function create({ ask }: ApiWorld, url: string): Promise<Batch> {
  const response = await ask('POST', '/v1/batches', { requests, webhook: { url } });
  expect(response.status, await response.clone().text()).toBe(200);
  return BatchSchema.strict().parse(await response.json());
}

test('A batch sends one signed event when it has ended, whose body is the batch', async () => {
  const world = await batchWorld();
  const { ask, parts, worker } = world;
  await startDeliverer(server.url, parts);
  const secret = ((await (await ask('POST', '/v1/webhooks/secret')).json()) as { key: string }).key;
  const receiver = await webhookReceiver();
  receiver.answer(500);
  const { id } = await create(world, receiver.url);
  whenDone(feedBatches(parts));
  await worker.succeed(await worker.next(QUEUE));
  // The second one repeats the first, which was refused.
  const [first, second] = await receiver.until(2);
  await verified(second, secret);
  expect(second).toMatchObject({ id: first.id, body: first.body });
  const body = BatchWebhookBodySchema.strict().parse(JSON.parse(second.body));
  const batch = await (await ask('GET', `/v1/batches/${id}`)).json();
  expect(body).toMatchObject({ type: 'batch.completed', data: batch });
  expect(batch).toMatchObject({ status: 'completed', webhook: { url: receiver.url } });

  const log = async () =>
    DeliveryLogSchema.parse(await (await ask('GET', `/v1/batches/${id}/webhook`)).json());
  await expect.poll(async () => (await log()).deliveries).toMatchObject([{ state: 'delivered' }]);
  expect((await log()).attempts.map(({ status }) => status)).toEqual([500, 204]);
  expect((await ask('POST', `/v1/batches/${id}/webhook/redeliver`)).status).toBe(202);
  expect((await receiver.until(3))[2]).toMatchObject({ id: first.id, body: first.body });
});

test('A batch that is cancelled after its last job has ended, or whose end is repeated, sends one kind of event', async () => {
  const world = await batchWorld();
  const { ask, parts, worker } = world;
  const { batches, redis, keys } = parts;
  const receiver = await webhookReceiver();
  const { id } = await create(world, receiver.url);
  // As a process leaves it that dies before the end is stored.
  const files = Object.create(parts.files, { keepOutput: { value: () => Promise.reject(new Error('no')) } });
  const stop = feedBatches({ ...parts, files });
  await worker.succeed(await worker.next(QUEUE));
  await expect.poll(async () => (await batches.read(id as BatchId))?.reason).toBe('completed');
  await stop();
  expect(await (await ask('POST', `/v1/batches/${id}/cancel`)).json()).toMatchObject({
    status: 'finalizing',
  });
  await redis.zadd(keys.batchesDue, 'XX', 0, id);
  whenDone(feedBatches(parts));
  whenDone(feedBatches(parts));
  await expect.poll(async () => (await batches.read(id as BatchId))?.state).toBe('completed');
  const again = await batches.read(id as BatchId);
  expect(again && (await batches.finish(again, { state: 'cancelled' }, 1))).toBe(false);
  const found = await parts.webhooks.deliveries.of(id as BatchId);
  expect(found).toMatchObject([{ event: 'batch.completed', job: id as string as JobId, state: 'pending' }]);
});

test('A batch with a webhook that can never be called is refused', async () => {
  const world = await batchWorld();
  const webhook = { url: 'ftp://example.com/hook' };
  const response = await world.ask('POST', '/v1/batches', { requests, webhook });
  expect(response.status).toBe(422);
  expect(await problemOf(response)).toMatchObject({ errors: [{ pointer: '/webhook/url' }] });
});

test('A batch is followed from what it is to its end, also by those who come later', async () => {
  const world = await batchWorld();
  const { ask, parts, worker } = world;
  whenDone(feedBatches(parts));
  const made = await ask('POST', '/v1/batches', { requests: [...requests, ...requests] });
  const { id } = (await made.json()) as Batch;
  const path = `/v1/batches/${id}/events`;
  const response = await ask('GET', path);
  expect(response.headers.get('content-type')).toContain('text/event-stream');
  await expect.poll(() => parts.feeds.size).toBe(0);
  const reading = response.text();
  await expect.poll(() => parts.feeds.size).toBe(1);
  await worker.succeed(await worker.next(QUEUE));
  await expect.poll(async () => (await parts.batches.read(id as BatchId))?.completed).toBe(1);
  await worker.succeed(await worker.next(QUEUE));
  const events = eventsIn(await reading);
  expect(events.at(0)).toMatchObject({ type: 'batch.progress', data: { request_counts: { total: 2 } } });
  const shown = await (await ask('GET', `/v1/batches/${id}`)).json();
  expect(events.at(-1)).toMatchObject({ type: 'batch.completed', data: shown });
  // A change is told once.
  expect(new Set(events.map(({ data }) => JSON.stringify(data))).size).toBe(events.length);
  expect(eventsIn(await (await ask('GET', path)).text())).toMatchObject([{ type: 'batch.completed' }]);
  const again = await ask('GET', path, undefined, { headers: { 'last-event-id': 'end' } });
  expect(again.status).toBe(204);
  expect(parts.feeds.size).toBe(0);
  parts.feeds.stop();
  expect(eventsIn(await (await ask('GET', path)).text())).toEqual([]);
});

test('A stream of a batch counts among those of its key', async () => {
  const world = await batchWorld();
  const { ask } = await keyHolder(world, 'acme', { limits: { max_streams: 1 } });
  const { id } = (await (await ask('POST', '/v1/batches', { requests })).json()) as Batch;
  const open = await ask('GET', `/v1/batches/${id}/events`);
  expect((await ask('GET', `/v1/batches/${id}/events`)).status).toBe(429);
  await open.body?.cancel();
  const next = await ask('GET', `/v1/batches/${id}/events`);
  expect(next.status).toBe(200);
  await next.body?.cancel();
});

const eventsIn = (text: string): BatchEvent[] =>
  [...text.matchAll(/^data: (.*)$/gm)].map(([, json]) => BatchEventSchema.strict().parse(JSON.parse(json)));

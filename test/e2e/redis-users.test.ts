/** API and workers run as the users of infra/redis/users.acl: whatever they do, Redis denies no command and no key. */
import { readFile } from 'node:fs/promises';
import { expect, onTestFinished, test } from 'vitest';
import type { Job } from '../../packages/shared/src/index.ts';
import type { Redis } from '../../packages/shared/src/redis/index.ts';
import { readEvents } from '../support/event-stream.ts';
import { startRedis, type TestRedis, testRedis } from '../support/redis.ts';
import { SAMPLES } from '../support/speech-files.ts';
import { speechModels } from '../support/speech-models.ts';
import { type Stack, startStack } from '../support/stack.ts';
import { tinyModels } from '../support/tiny-models.ts';
import { webhookReceiver } from '../support/webhook-receiver.ts';

const WORKER = { LEHR_DRAIN_S: '0' };

async function guardedStack(models: string): Promise<{ stack: Stack; redis: TestRedis }> {
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  const stack = await startStack(redis, {
    LEHR_NAMESPACE: 'lehr',
    LEHR_MODELS: models,
    LEHR_LEASE_MS: '1000',
    LEHR_EGRESS_ALLOW: '*',
  });
  return { stack, redis };
}

/** What Redis denied, one line for each kind. */
async function denials(operator: Redis): Promise<string[]> {
  const entries = (await operator.call('ACL', 'LOG', '128')) as unknown[][];
  return entries.map((entry) => {
    const field = (name: string) => String(entry[entry.indexOf(name) + 1]);
    return `${field('username')}: ${field('reason')} ${field('object')} (${field('context')})`;
  });
}

/** Fails with what Redis denied during `run`, which is the reason when `run` fails as well. */
async function expectNoDenials(redis: TestRedis, run: () => Promise<void>): Promise<void> {
  const operator = testRedis(redis.url);
  const outcome = await run().catch((error: unknown) => ({ error }));
  expect(await denials(operator)).toEqual([]);
  if (outcome) throw outcome.error;
}

const json = async <Body>(answer: Promise<Response>): Promise<Body> => (await (await answer).json()) as Body;

test('Jobs, events, webhooks, keys and the board need nothing that the users of Redis may not do', async () => {
  const { stack, redis } = await guardedStack(await tinyModels());
  await expectNoDenials(redis, () => useEverything(stack));
});

async function useEverything(stack: Stack): Promise<void> {
  const receiver = await webhookReceiver();
  await stack.worker(WORKER);

  const { id } = await stack.post({ steps: 20 }, { webhook: { url: receiver.url }, deadline_s: 600 });
  const types: string[] = [];
  for await (const { event } of readEvents(await stack.ask('GET', `/v1/jobs/${id}/events?previews=true`))) {
    types.push(event);
  }
  expect(types.at(-1)).toBe('job.succeeded');
  await receiver.until(1);
  expect((await stack.ask('POST', `/v1/jobs/${id}/webhook/redeliver`)).status).toBeLessThan(300);
  const key = await json<{ id: string; key: string }>(
    stack.ask('POST', '/v1/keys', { tenant: 'acme', limits: { cost_per_minute_s: 60 } }),
  );
  const asAcme = { authorization: `Bearer ${key.key}`, 'idempotency-key': 'order-81' };
  const order = { type: 'text-to-image', input: { prompt: 'a house', steps: 2 } };
  for (let i = 0; i < 2; i++)
    expect((await stack.ask('POST', '/v1/jobs', order, asAcme)).status).toBeLessThan(300);
  for (const path of [
    '/v1/jobs',
    '/v1/queues',
    '/v1/activity',
    '/v1/usage',
    '/v1/dead-letters',
    '/v1/traffic',
    '/v1/keys',
    '/v1/models',
    '/v1/webhooks/secret',
    '/readyz',
    '/metrics',
  ])
    expect((await stack.ask('GET', path)).status, path).toBe(200);
  expect((await stack.ask('POST', '/v1/webhooks/secret/rotate')).status).toBe(201);
  expect((await stack.ask('PATCH', `/v1/keys/${key.id}`, { name: 'x' })).status).toBe(200);
  expect((await stack.ask('DELETE', `/v1/keys/${key.id}`)).status).toBe(204);
  const boards = await json<{ queues: { name: string }[] }>(stack.ask('GET', '/admin/queues/api/queues'));
  for (const { name } of boards.queues) {
    for (const status of ['latest', 'completed', 'failed', 'waiting', 'prioritized', 'active'])
      expect(
        (await stack.ask('GET', `/admin/queues/api/queues?activeQueue=${name}&status=${status}`)).status,
      ).toBe(200);
    expect((await stack.ask('GET', `/admin/queues/api/queues/${name}/${id}`)).status).toBeLessThan(500);
  }
  expect((await stack.ask('DELETE', `/v1/jobs/${id}`)).status).toBe(204);
}

test('Workflows, cancels, deadlines, drains and the recovery of lost jobs need nothing that the users may not do', {
  tags: ['long'],
}, async () => {
  const { stack, redis } = await guardedStack(await speechModels());
  await expectNoDenials(redis, () => loseJobs(stack));
});

async function loseJobs(stack: Stack): Promise<void> {
  const first = await stack.worker(WORKER);
  const audio = await stack.upload('circle.wav', await readFile(new URL('en_circle.wav', SAMPLES)));
  const spoken = await json<Job>(
    stack.ask('POST', '/v1/jobs', { type: 'speech-to-image', input: { audio } }),
  );
  expect((await stack.over(spoken.id)).status).toBe('succeeded');

  const long = { width: 512, height: 512, steps: 999, guidance: 1 };
  const running = async (job: Job): Promise<void> =>
    expect
      .poll(async () => (await json<Job>(stack.ask('GET', `/v1/jobs/${job.id}`))).progress?.step ?? 0, {
        timeout: 60_000,
      })
      .toBeGreaterThan(0);
  const canceled = await stack.post(long);
  await running(canceled);
  await stack.ask('POST', `/v1/jobs/${canceled.id}/cancel`);
  expect((await stack.over(canceled.id)).status).toBe('canceled');
  expect((await stack.over((await stack.post(long, { deadline_s: 2 })).id)).status).toBe('expired');

  const moved = await stack.post(long);
  await running(moved);
  first.signal('SIGKILL');
  await first.exited();
  const second = await stack.worker(WORKER);
  await second.line(({ msg, job }) => msg === 'job started' && job === moved.id);
  await second.stop();
  expect((await json<Job>(stack.ask('GET', `/v1/jobs/${moved.id}`))).status).toBe('queued');
  await stack.ask('POST', `/v1/jobs/${moved.id}/cancel`);
  expect((await stack.over(moved.id)).status).toBe('canceled');
  // The API's janitor, when no worker runs one.
  const waiting = await stack.post({}, { deadline_s: 1 });
  expect((await stack.over(waiting.id)).status).toBe('expired');
  await stack.api.stop();
}

/** What a worker does with jobs without a record that it does not start, in a real Redis. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DirectRuns } from '../../apps/worker/src/parent/intake/direct-runs.ts';
import {
  LehrError,
  newJobId,
  newWorkerId,
  silentLog,
  systemClock,
  type TenantId,
} from '../../packages/shared/src/index.ts';
import { DirectJobs } from '../../packages/shared/src/queue/direct/direct-jobs.ts';
import { Admitter } from '../../packages/shared/src/queue/index.ts';
import { parseEndedJob } from '../../packages/shared/src/records/index.ts';
import { newJob, queueWorld } from '../support/queue-world.ts';
import { startRedis, type TestRedis, testRedis } from '../support/redis.ts';

const TENANT = 'one' as TenantId;

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

/** Sends a job to a worker that cannot make its run; returns how the job ended, and which ends the worker counted. */
async function refusedWith(error: LehrError, mayRun = true) {
  const { redis, keys, queues } = await queueWorld(server.url);
  const id = newWorkerId('direct');
  const counted: unknown[] = [];
  const runs = new DirectRuns({
    commands: redis,
    subscriber: testRedis(server.url, 'subscriber'),
    keys,
    id,
    runner: {
      newRun: () => {
        throw error;
      },
    },
    clock: systemClock,
    log: silentLog,
    observe: { endedAtClaim: (...end) => counted.push(end) },
    mayRun: () => mayRun,
    onStarted: () => {},
  });
  await runs.open();
  const subscriber = testRedis(server.url, 'subscriber');
  const messages: string[] = [];
  subscriber.on('message', (_: string, text: string) => messages.push(text));
  await subscriber.subscribe(keys.ended('here'));
  const request = {
    id: newJobId(),
    tenant: TENANT,
    queue: 'text.minilm@1',
    priority: 'standard',
    cost: 10,
  } as const;
  const admission = await new Admitter(redis, keys).admit(request, { maxJobs: 10 });
  if (admission.code !== 'admitted') throw new Error(admission.code);
  const job = newJob({
    ...request,
    model: 'minilm@1',
    type: 'text-embedding',
    input: { texts: ['a'] },
    held_by: 'here',
  });
  expect(await new DirectJobs(redis, keys).send(job, queues, [id])).toBeDefined();
  await expect.poll(() => messages.length).toBe(1);
  expect(await redis.exists(keys.live, keys.liveOf(TENANT), keys.reserved, keys.direct(id))).toBe(0);
  return { end: parseEndedJob(messages[0]).record, counted };
}

test('A worker that may not begin a job hands it back', async () => {
  const { end, counted } = await refusedWith(new LehrError('invalid-input', 'not read'), false);
  expect(end).toMatchObject({ state: 'failed', error: { code: 'unavailable' } });
  expect(counted).toEqual([]);
});

test('A worker that has closed the model of a job hands it back', async () => {
  const { end, counted } = await refusedWith(new LehrError('model-unavailable', 'closed'));
  expect(end).toMatchObject({ state: 'failed', error: { code: 'unavailable' } });
  expect(counted).toEqual([]);
});

test('A job that cannot be run fails with its reason, and is counted', async () => {
  const { end, counted } = await refusedWith(new LehrError('invalid-input', 'no such field'));
  expect(end).toMatchObject({ state: 'failed', error: { code: 'invalid-input' } });
  expect(counted).toEqual([['text.minilm@1', 'failed', 'invalid-input']]);
});

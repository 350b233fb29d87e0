/** Sending and ending jobs without a record, in a real Redis. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newJobId, newWorkerId, type TenantId } from '../../packages/shared/src/index.ts';
import {
  DirectJobs,
  type EndedRecord,
  HANDED_BACK,
  MAX_DIRECT,
  type RunningRecord,
  readDirectJob,
} from '../../packages/shared/src/queue/direct/direct-jobs.ts';
import { Admitter } from '../../packages/shared/src/queue/index.ts';
import { type NewJob, parseEndedJob, toStoredError } from '../../packages/shared/src/records/index.ts';
import { newJob, queueWorld } from '../support/queue-world.ts';
import { startRedis, type TestRedis, testRedis } from '../support/redis.ts';

const QUEUE = 'text.minilm@1';
const TENANT = 'one' as TenantId;

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

async function directWorld() {
  const world = await queueWorld(server.url);
  const { redis, keys, queues } = world;
  const admitter = new Admitter(redis, keys);
  const direct = new DirectJobs(redis, keys);
  const subscriber = testRedis(server.url, 'subscriber');
  const messages: string[] = [];
  subscriber.on('message', (_: string, text: string) => messages.push(text));
  /** A worker that listens. */
  const listen = async () => {
    const worker = newWorkerId('direct');
    await subscriber.subscribe(keys.direct(worker));
    return worker;
  };
  const admit = async (cost = 10): Promise<NewJob> => {
    const id = newJobId();
    const request = { id, tenant: TENANT, queue: QUEUE, priority: 'standard', cost } as const;
    const admission = await admitter.admit(request, { maxJobs: 1000 });
    if (admission.code !== 'admitted') throw new Error(admission.code);
    const payer = { key: 'k', budget_ms: 60_000, weight: 1 };
    return newJob({
      ...request,
      payer,
      model: 'minilm@1',
      type: 'text-embedding',
      input: { texts: ['a'] },
      held_by: 'here',
      fair_tag: admission.startTag,
      score: admission.score,
      admitted_at: admission.now,
    });
  };
  const send = (job: NewJob, workers: Parameters<DirectJobs['send']>[2]) => direct.send(job, queues, workers);
  return { ...world, direct, subscriber, messages, listen, admit, send };
}

const endOf = (job: RunningRecord): EndedRecord => {
  const { state: _, ...rest } = job;
  return { ...rest, state: 'canceled', finished_at: 5, expires_at: 5 };
};

test('A job is sent to the worker that listens and has the fewest, as the same record on both sides', async () => {
  const { admit, send, listen, messages, redis, keys } = await directWorld();
  const [silent, first, second] = [newWorkerId('silent'), await listen(), await listen()];
  const jobs = [await admit(), await admit(), await admit()];
  const sent = [];
  for (const job of jobs) sent.push(await send(job, [silent, first, second]));
  expect(sent.map((record) => record?.worker)).toEqual([first, second, first]);
  await expect.poll(() => messages.length).toBe(3);
  expect(readDirectJob(messages[0], first)).toEqual(sent[0]);
  expect(await redis.zcard(keys.direct(first))).toBe(2);
  expect(await redis.zcard(keys.liveOf(TENANT))).toBe(3);
});

test('A job whose sending is repeated after a lost reply is sent once', async () => {
  const { admit, send, listen, messages, redis, keys } = await directWorld();
  const [first, second] = [await listen(), await listen()];
  const job = await admit();
  const sent = [await send(job, [first, second]), await send(job, [first, second])];
  expect(sent.map((record) => record?.worker)).toEqual([first, first]);
  await send(await admit(), [second]);
  await expect.poll(() => messages.length).toBe(2);
  expect(await redis.zcard(keys.direct(second))).toBe(1);
});

test('No job is sent while another of its group waits, while no worker listens, or to a worker with as many as it may have', async () => {
  const { admit, send, listen, submit, redis, keys } = await directWorld();
  const worker = await listen();
  expect(await send(await admit(), [newWorkerId('silent')])).toBeUndefined();
  await redis.zadd(
    keys.direct(worker),
    ...Array.from({ length: MAX_DIRECT }, (_, i) => [1e15, `${i}`]).flat(),
  );
  expect(await send(await admit(), [worker])).toBeUndefined();
  await redis.del(keys.direct(worker));
  await submit({ queue: QUEUE, model: 'minilm@1', type: 'text-embedding', score: 2 ** 52 });
  expect(await send(await admit(), [worker])).toBeUndefined();
});

test('The end of a job frees its place, charges the difference, and is sent once', async () => {
  const { admit, send, listen, direct, subscriber, messages, redis, keys } = await directWorld();
  const worker = await listen();
  await subscriber.subscribe(keys.ended('here'));
  const job = await send(await admit(10), [worker]);
  if (!job) throw new Error('the job was not sent');
  const tag = Number(await redis.zscore(keys.fairTags(QUEUE, 'standard'), TENANT));
  expect(await direct.end(job, endOf(job), 35)).toBe(true);
  expect(await direct.end(job, endOf(job), 35)).toBe(false);
  await expect.poll(() => messages.length).toBe(2);
  expect(parseEndedJob(messages[1])).toMatchObject({ id: job.id, record: { state: 'canceled', worker } });
  expect(await redis.hget(keys.budget('k'), 'used')).toBe('25');
  expect(Number(await redis.zscore(keys.fairTags(QUEUE, 'standard'), TENANT))).toBe(tag + 25);
  expect(await redis.exists(keys.live, keys.liveOf(TENANT), keys.reserved, keys.direct(worker))).toBe(0);
  const [day] = await redis.keys(`${keys.prefix}:usage:*:${TENANT}`);
  expect(await redis.hgetall(day)).toEqual({ 'k minilm@1 c': '1' });
});

test('A job that has succeeded is counted with the device time that was measured', async () => {
  const { admit, send, listen, direct, redis, keys } = await directWorld();
  const job = await send(await admit(), [await listen()]);
  if (!job) throw new Error('the job was not sent');
  const timings = { queued: 1, tokenize: 1, wait: 1, run: 1, store: 0 };
  const metrics = {
    queue_ms: 1,
    run_ms: 2,
    total_ms: 3,
    batch_size: 4,
    worker: 'w',
    timings,
    device_ms: 1.5,
  };
  const { state: _, ...rest } = job;
  const ended = {
    ...rest,
    state: 'succeeded',
    finished_at: 5,
    expires_at: 5,
    output: { images: [] },
    metrics,
  };
  expect(await direct.end(job, ended as EndedRecord)).toBe(true);
  const [day] = await redis.keys(`${keys.prefix}:usage:*:${TENANT}`);
  expect(await redis.hgetall(day)).toEqual({ 'k minilm@1 s': '1', 'k minilm@1 us': '1500' });
});

test('A job that a worker hands back is not counted as used, because it runs again', async () => {
  const { admit, send, listen, direct, redis, keys } = await directWorld();
  const job = await send(await admit(), [await listen()]);
  if (!job) throw new Error('the job was not sent');
  const { state: _, ...rest } = job;
  const error = toStoredError({ code: HANDED_BACK, message: 'It stops.' });
  expect(await direct.end(job, { ...rest, state: 'failed', finished_at: 5, expires_at: 5, error })).toBe(
    true,
  );
  expect(await redis.keys(`${keys.prefix}:usage:*`)).toEqual([]);
});

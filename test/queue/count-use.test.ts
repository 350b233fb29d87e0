/** Each job is counted once in the use of its tenant, in the step that ends it, in a real Redis. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type JobId, newLeaseToken, type TenantId } from '../../packages/shared/src/index.ts';
import { COUNT_USE_LUA, RecordStore } from '../../packages/shared/src/records/index.ts';
import { bundle } from '../support/bundle.ts';
import { startProgram } from '../support/lehr-process.ts';
import { type QueueWorld, queueWorld } from '../support/queue-world.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

const TENANT = 'acme' as TenantId;
const DAY_MS = 86_400_000;
const PAYER = { key: 'key1', budget_ms: null, weight: 1 };
const JOB = { tenant: TENANT, model: 'tiny@1', cost: 1000, payer: PAYER };
const TIMINGS = { queued: 1, admitted: 1, text: 1, denoise: 1, decode: 1, encode: 1, upload: 1 };
const FAILURE = { code: 'numeric-error', title: 'Bad numbers', detail: 'NaN', retryable: false };

let server: TestRedis;
let world: QueueWorld;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

/** By key and model: how many jobs succeeded, failed, were canceled and expired, and the microseconds of device time. */
function pairsOf(hash: Record<string, string>): Record<string, number[]> {
  const pairs: Record<string, number[]> = {};
  for (const [name, number] of Object.entries(hash)) {
    const [key, model, what] = name.split(' ');
    const numbers = pairs[`${key} ${model}`] ?? [0, 0, 0, 0, 0];
    pairs[`${key} ${model}`] = numbers;
    numbers[['s', 'f', 'c', 'e', 'us'].indexOf(what)] = Number(number);
  }
  return pairs;
}

/** What is counted of the tenant, on whatever day. */
async function used({ redis, keys }: QueueWorld): Promise<Record<string, number[]>> {
  const [key] = await redis.keys(`${keys.prefix}:usage:*:${TENANT}`);
  return pairsOf(key === undefined ? {} : await redis.hgetall(key));
}

async function started({ records, worker, submit }: QueueWorld, job: object = JOB) {
  const id = await submit(job);
  const lease = newLeaseToken(worker);
  await records.apply([{ move: 'start', id, lease, fields: { worker } }]);
  return { id, lease };
}

const success = (metrics: object) => ({
  output: { images: [] },
  metrics: { queue_ms: 1, run_ms: 2, total_ms: 3, batch_size: 4, worker: 'w', timings: TIMINGS, ...metrics },
});

test('Ends are counted by outcome, key and model, with the device time that was measured or estimated', async () => {
  world = await queueWorld(server.url);
  const { records, submit } = world;
  const done = await started(world);
  await records.apply([{ move: 'succeed', ...done, fields: success({ device_ms: 12.3456 }) }]);
  // It went on from a checkpoint, so its time was not measured.
  const resumed = await started(world);
  await records.apply([{ move: 'succeed', ...resumed, fields: success({}) }]);
  const stopped = await started(world);
  const progress = { fraction: 0.25, stage: 'denoise', step: 1, steps: 4 };
  await records.apply([
    { move: 'progress', ...stopped, fields: { progress } },
    { move: 'cancel', ...stopped },
  ]);
  await records.apply([{ move: 'fail', ...(await started(world)), fields: { error: FAILURE } }]);
  await records.apply([{ move: 'expire', id: await submit(JOB) }]);
  await records.apply([{ move: 'cancel', id: await submit({ ...JOB, model: 'other@2' }) }]);
  expect(await used(world)).toEqual({
    'key1 tiny@1': [2, 1, 1, 1, 12_346 + 1_000_000 + 250_000],
    'key1 other@2': [0, 0, 1, 0, 0],
  });
});

test('A job whose end is sent again is counted once', async () => {
  world = await queueWorld(server.url);
  const job = await started(world);
  const move = { move: 'succeed', ...job, fields: success({ device_ms: 5 }) } as const;
  const outcomes = [...(await world.records.apply([move])), ...(await world.records.apply([move]))];
  expect(outcomes.map(({ code }) => code)).toEqual(['ok', 'same']);
  expect(await used(world)).toEqual({ 'key1 tiny@1': [1, 0, 0, 0, 5000] });
});

test('A job is counted once when a worker was killed while it ran, and another one that ended it is killed then', async () => {
  world = await queueWorld(server.url);
  const { id } = await started(world);
  // The lease of the killed worker is gone; its progress belongs to no later attempt.
  await world.records.apply([{ move: 'requeue', id }]);
  expect(await used(world)).toEqual({});
  const file = await bundle('../support/dying-worker.ts', import.meta.url);
  const namespace = world.keys.prefix.slice(1, -1);
  const dying = startProgram(file, {}, [server.url, namespace, id]);
  expect(await dying.exited()).toBe('SIGKILL');
  await world.records.apply([{ move: 'fail', id, fields: { error: FAILURE } }]);
  expect(await used(world)).toEqual({ 'key1 tiny@1': [0, 1, 0, 0, 0] });
});

test('A record of an older version, without a payer, is counted without a key', async () => {
  world = await queueWorld(server.url);
  const { payer: _, ...older } = JOB;
  await world.records.apply([{ move: 'cancel', id: await world.submit(older) }]);
  expect(await used(world)).toEqual({ '- tiny@1': [0, 0, 1, 0, 0] });
});

test('The use of a day expires when its time is over, and a later job of the day does not extend it', async () => {
  world = await queueWorld(server.url);
  const { redis, keys, submit } = world;
  const records = new RecordStore(redis, keys, { retentionMs: 60_000, usageMs: 30 * DAY_MS });
  const end = async (): Promise<unknown> =>
    records.apply([{ move: 'cancel', id: (await submit(JOB)) as JobId }]);
  await end();
  const found = await redis.keys(`${keys.prefix}:usage:*`);
  expect(found).toHaveLength(2);
  for (const key of found) {
    expect(await redis.pttl(key)).toBeGreaterThan(29 * DAY_MS);
    await redis.pexpire(key, DAY_MS);
  }
  await end();
  for (const key of found) expect(await redis.pttl(key)).toBeLessThanOrEqual(DAY_MS);
});

/** Counts one job at this time (Unix ms). */
const countAt = ({ redis, keys }: QueueWorld, at: number, key = 'k'): Promise<unknown> =>
  redis.eval(
    `${COUNT_USE_LUA} count_use({ prefix = ARGV[1], now = tonumber(ARGV[2]), kept = 60000 }, 'acme', ARGV[3], 'm@1', 'succeeded', 1)`,
    ...[0, keys.prefix, at, key],
  );

test('A day ends at midnight in UTC', async () => {
  world = await queueWorld(server.url);
  const midnight = Date.UTC(2026, 10, 29);
  for (const at of [midnight - 1, midnight, midnight + DAY_MS - 1]) await countAt(world, at);
  const { redis, keys } = world;
  const day = midnight / DAY_MS;
  expect(pairsOf(await redis.hgetall(keys.usage(day - 1, TENANT)))).toEqual({ 'k m@1': [1, 0, 0, 0, 1000] });
  expect(pairsOf(await redis.hgetall(keys.usage(day, TENANT)))).toEqual({ 'k m@1': [2, 0, 0, 0, 2000] });
  expect(await redis.smembers(keys.usageTenants(day))).toEqual([TENANT]);
});

test('A day of a tenant has at most a thousand keys and models by name, and loses no job of the others', async () => {
  world = await queueWorld(server.url);
  for (let i = 0; i < 1010; i += 1) await countAt(world, 0, `k${i}`);
  await countAt(world, 0, 'k0');
  const counted = pairsOf(await world.redis.hgetall(world.keys.usage(0, TENANT)));
  expect(Object.keys(counted)).toHaveLength(1001);
  expect(counted['k0 m@1']).toEqual([2, 0, 0, 0, 2000]);
  expect(counted['- -']).toEqual([10, 0, 0, 0, 10000]);
});

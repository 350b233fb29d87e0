/** Attempts that are started and ended in one round trip each. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { silentLog } from '../../packages/shared/src/index.ts';
import { type Claim, Leases } from '../../packages/shared/src/queue/index.ts';
import type { Move } from '../../packages/shared/src/records/index.ts';
import { GROUP, type QueueWorld, queueWorld } from '../support/queue-world.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const METRICS = {
  queue_ms: 1,
  run_ms: 2,
  total_ms: 3,
  batch_size: 1,
  worker: 'w',
  timings: { queued: 1, tokenize: 1, wait: 1, run: 1, store: 0 },
};

const success = ({ jobId: id, token: lease }: Claim): Move => ({
  move: 'succeed',
  id,
  lease,
  fields: { output: { images: [] }, metrics: METRICS },
});

/** Of a worker that notes which of them were lost. */
const leasesOf = ({ queues }: QueueWorld, lost: string[]): Leases =>
  new Leases({ queues, log: silentLog, renewEveryMs: 60_000, onLost: ({ jobId }) => lost.push(jobId) });

/** States of the job in BullMQ by the keys that hold it. */
async function placesOf({ redis, keys }: QueueWorld, { jobId }: Claim): Promise<string[]> {
  const base = `${keys.prefix}:${GROUP}`;
  const active = await redis.lrange(`${base}:active`, 0, -1);
  const sets = await Promise.all(
    ['prioritized', 'completed', 'failed'].map(async (name) =>
      (await redis.zscore(`${base}:${name}`, jobId)) === null ? [] : [name],
    ),
  );
  return [...(active.includes(jobId) ? ['active'] : []), ...sets.flat()];
}

test('A start claims as many jobs as are asked for, in their order, and returns their records running under leases of their own', async () => {
  const world = await queueWorld(server.url);
  const ids = [await world.submit(), await world.submit(), await world.submit()];
  const started = await world.store.start(GROUP, 2);
  expect(started.map(({ claim }) => claim.jobId)).toEqual(ids.slice(0, 2));
  for (const { claim, outcome } of started) {
    expect(outcome).toMatchObject({
      code: 'ok',
      attempt: 1,
      record: { state: 'running', worker: world.worker },
    });
    expect(await world.redis.get(`${world.queues.of(GROUP).jobKey(claim.jobId)}:lock`)).toBe(claim.token);
    expect(await placesOf(world, claim)).toEqual(['active']);
  }
  expect(new Set(started.map(({ claim }) => claim.token)).size).toBe(2);
  expect(await world.store.start(GROUP, 5)).toHaveLength(1);
  expect(await world.store.start(GROUP, 5)).toEqual([]);
});

test('A start that leaves no job waiting leaves no marker, and one that leaves some does', async () => {
  const world = await queueWorld(server.url);
  await world.submit();
  await world.submit();
  const { marker } = world.queues.of(GROUP);
  await world.store.start(GROUP, 1);
  expect(await world.redis.exists(marker)).toBe(1);
  await world.store.start(GROUP, 1);
  expect(await world.redis.exists(marker)).toBe(0);
  await world.submit();
  expect(await world.redis.exists(marker)).toBe(1);
});

test('A start whose reply is lost gives the same jobs under the same leases when the connection sends it again, and claims no others', async () => {
  const world = await queueWorld(server.url);
  const { store, redis, worker } = await world.another();
  // From here on Redis knows the script.
  expect(await store.start(GROUP, 1)).toEqual([]);
  const ids = [await world.submit(), await world.submit(), await world.submit(), await world.submit()];
  const { activeKey } = world.queues.of(GROUP);
  redis.stream.pause();
  const starting = store.start(GROUP, 2);
  await expect.poll(() => world.redis.llen(activeKey)).toBe(2);
  const [other] = await world.store.start(GROUP, 1);
  redis.stream.destroy();
  const started = await starting;
  expect(started.map(({ claim }) => claim.jobId)).toEqual(ids.slice(0, 2));
  for (const { claim, outcome } of started) {
    expect(outcome).toMatchObject({ code: 'same', attempt: 1, record: { state: 'running', worker } });
    expect(await world.redis.get(`${world.queues.of(GROUP).jobKey(claim.jobId)}:lock`)).toBe(claim.token);
  }
  expect(other.claim.jobId).toBe(ids[2]);
  expect(await world.redis.lrange(activeKey, 0, -1)).toEqual([ids[2], ids[1], ids[0]]);
  const [last] = await store.start(GROUP, 2);
  expect(last.claim.jobId).toBe(ids[3]);
});

test('What a start remembers for a lost reply is one key for each worker, which expires with the leases', async () => {
  const world = await queueWorld(server.url);
  for (let i = 0; i < 3; i++) {
    await world.submit();
    await world.store.start(GROUP, 1);
  }
  const key = `${world.keys.prefix}:start:${world.worker}`;
  expect(await world.redis.keys(`${world.keys.prefix}:start:*`)).toEqual([key]);
  const leftMs = await world.redis.pttl(key);
  expect(leftMs).toBeGreaterThan(0);
  expect(leftMs).toBeLessThanOrEqual(world.queues.leaseMs);
});

test('A start claims jobs of one class, that of the first job that runs, and leaves a marker for the others', async () => {
  const world = await queueWorld(server.url);
  const bulk = await world.submit({ priority: 'bulk' });
  const ended = await world.submit({ priority: 'interactive' });
  await world.records.apply([{ move: 'cancel', id: ended }]);
  const standard = [await world.submit(), await world.submit()];
  const claimed = async () => (await world.store.start(GROUP, 8)).map(({ claim }) => claim.jobId);
  expect(await claimed()).toEqual([ended, ...standard]);
  expect(await world.redis.exists(world.queues.of(GROUP).marker)).toBe(1);
  expect(await claimed()).toEqual([bulk]);
});

test('A job that BullMQ gave up is claimed and not started, with the reason', async () => {
  const world = await queueWorld(server.url);
  const id = await world.submit();
  await world.redis.hset(world.queues.of(GROUP).jobKey(id), 'defa', 'stalled');
  const [{ claim, outcome }] = await world.store.start(GROUP, 1);
  expect([claim.deferredFailure, outcome]).toEqual(['stalled', undefined]);
  expect(await world.records.read(id)).toMatchObject({ state: 'queued' });
});

test('Jobs are started beside one whose record is no hash, which is claimed as unreadable', async () => {
  const world = await queueWorld(server.url);
  const ids = [await world.submit(), await world.submit(), await world.submit()];
  await world.redis.set(world.keys.record(ids[1]), 'damaged');
  const started = await world.store.start(GROUP, 3);
  expect(started.map(({ claim, outcome }) => [claim.jobId, outcome?.code])).toEqual([
    [ids[0], 'ok'],
    [ids[1], 'unreadable'],
    [ids[2], 'ok'],
  ]);
  const damaged = { id: ids[1], version: undefined, reason: 'it is not a hash' };
  expect(started[1].outcome?.unreadable).toEqual(damaged);
});

test('An end closes record and BullMQ job together, and the same end again changes nothing', async () => {
  const world = await queueWorld(server.url);
  const id = await world.submit();
  const [{ claim }] = await world.store.start(GROUP, 1);
  expect(await world.store.end(claim, success(claim))).toMatchObject({ code: 'ok', state: 'succeeded' });
  expect(await placesOf(world, claim)).toEqual(['completed']);
  expect(await world.store.end(claim, success(claim))).toMatchObject({ code: 'same', state: 'succeeded' });
  expect(await world.records.read(id)).toMatchObject({ state: 'succeeded', rev: 3 });
});

test('An end with a reason shows the reason on the admin page', async () => {
  const world = await queueWorld(server.url);
  await world.submit();
  const [{ claim }] = await world.store.start(GROUP, 1);
  const { jobId: id, token: lease } = claim;
  const error = { code: 'numeric-error', title: 'Bad numbers', detail: 'NaN', retryable: false };
  const outcome = await world.store.end(
    claim,
    { move: 'fail', id, lease, fields: { error } },
    { reason: 'NaN at step 3' },
  );
  expect(outcome).toMatchObject({ code: 'ok', state: 'failed' });
  expect(await placesOf(world, claim)).toEqual(['failed']);
  expect(await world.redis.hget(world.queues.of(GROUP).jobKey(id), 'failedReason')).toBe('NaN at step 3');
});

test('A job fails also when its message ends in half of a character', async () => {
  const world = await queueWorld(server.url);
  await world.submit();
  const [{ claim }] = await world.store.start(GROUP, 1);
  const { jobId: id, token: lease } = claim;
  const detail = 'No picture of \ud83d';
  const error = { code: 'engine-failed', title: 'The engine failed', detail, retryable: true };
  const outcome = await world.store.end(
    claim,
    { move: 'fail', id, lease, fields: { error } },
    { reason: detail },
  );
  expect(outcome).toMatchObject({ code: 'ok', state: 'failed' });
  expect(await placesOf(world, claim)).toEqual(['failed']);
  expect(await world.records.read(id)).toMatchObject({ error: { detail } });
});

test('An attempt that lost its lease ends nothing: the job stays with the attempt that has it now', async () => {
  const world = await queueWorld(server.url);
  const id = await world.submit();
  const [{ claim: earlier }] = await world.store.start(GROUP, 1);
  await world.records.apply([{ move: 'requeue', id, lease: earlier.token }]);
  await world.queues.of(GROUP).handBack(earlier, 1);
  const other = await world.another();
  const [{ claim: later }] = await other.store.start(GROUP, 1);
  expect(await world.store.end(earlier, success(earlier))).toMatchObject({ code: 'stale' });
  expect(await placesOf(world, later)).toEqual(['active']);
  expect(await other.store.end(later, success(later))).toMatchObject({ code: 'ok' });
});

test('A job that is handed back and claimed again at once, before its first lease is let go, has lost no lease', async () => {
  const world = await queueWorld(server.url);
  const lost: string[] = [];
  const leases = leasesOf(world, lost);
  const id = await world.submit();
  const [{ claim: earlier }] = await world.store.start(GROUP, 1);
  leases.add(earlier);
  leases.close(earlier);
  await world.records.apply([{ move: 'requeue', id, lease: earlier.token, refund: true }]);
  await world.queues.of(GROUP).handBack(earlier, 1);
  const [{ claim: later }] = await world.store.start(GROUP, 1);
  leases.add(later);
  leases.remove(earlier);
  await leases.renew();
  expect(lost).toEqual([]);
  expect(leases.jobs).toEqual([id]);
});

test('A renewal that finds the lease gone because the job ends at that moment is no loss', async () => {
  const world = await queueWorld(server.url);
  const lost: string[] = [];
  const leases = leasesOf(world, lost);
  await world.submit();
  await world.submit();
  const [ended, taken] = (await world.store.start(GROUP, 2)).map(({ claim }) => claim);
  leases.add(ended);
  leases.add(taken);
  leases.close(ended);
  await world.store.end(ended, success(ended));
  await world.redis.del(`${world.queues.of(GROUP).jobKey(taken.jobId)}:lock`);
  await leases.renew();
  expect(lost).toEqual([taken.jobId]);
  leases.remove(ended);
  expect(leases.size).toBe(0);
});

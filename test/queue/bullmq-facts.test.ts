/**
 * What BullMQ 6.7 does and does not do for code that claims jobs itself. Lehr relies on these facts; when an upgrade changes
 * one, a test here fails. A fact is tested through Lehr's queue layer where that layer guards against it, and through
 * BullMQ's classes where the fact is the reason to avoid them.
 */
import { FlowProducer, Queue, Worker } from 'bullmq';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { newLeaseToken } from '../../packages/shared/src/index.ts';
import { firstScore, recoverStalled } from '../../packages/shared/src/queue/index.ts';
import { GROUP, type QueueWorld, queueWorld } from '../support/queue-world.ts';
import { freshKeys, startRedis, type TestRedis, testRedis } from '../support/redis.ts';
import { SLOW_MACHINE } from '../support/timeouts.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

/** Shortest times that still leave a margin on a busy machine. */
const SHORT = { leaseMs: 400, stalledCheckMs: 100 };

/** Checks for stalled jobs until one is found: BullMQ marks a job on one check and moves it on a later one. */
async function recoverUntilFound(world: QueueWorld): Promise<string[]> {
  return vi.waitFor(async () => {
    const found = await recoverStalled(world.redis, world.keys, world.queues, world.records);
    expect(found).not.toEqual([]);
    return found;
  }, SLOW_MACHINE);
}

const leaseKey = (world: QueueWorld, id: string): string => `${world.keys.prefix}:${GROUP}:${id}:lock`;
const leaseTtl = (world: QueueWorld, id: string): Promise<number> => world.redis.pttl(leaseKey(world, id));

test('A lease runs out unless it is renewed', async () => {
  const world = await queueWorld(server.url, { leaseMs: 2000 });
  const [kept, left] = [await world.submit(), await world.submit()];
  const claims = await world.claim(GROUP, 2);
  const mine = claims.filter((claim) => claim.jobId === kept);
  await vi.waitFor(async () => {
    expect(await world.queues.of(GROUP).renew(mine)).toEqual([]);
    expect(await leaseTtl(world, left)).toBe(-2);
  }, SLOW_MACHINE);
  expect(await leaseTtl(world, kept)).toBeGreaterThan(0);
});

test('A job whose worker died stays active until its queue is checked for stalled jobs', async () => {
  const world = await queueWorld(server.url, SHORT);
  const id = await world.submit();
  const [claim] = await world.claim(GROUP, 1);
  await world.records.apply([{ move: 'start', id, lease: claim.token, fields: { worker: 'gone' } }]);
  await vi.waitFor(async () => expect(await leaseTtl(world, id)).toBe(-2), SLOW_MACHINE);
  expect(await world.claim(GROUP, 1)).toEqual([]);

  expect(await recoverUntilFound(world)).toEqual([id]);
  expect(await world.records.read(id)).toMatchObject({ state: 'queued', attempt: 1 });
  expect(await world.claim(GROUP, 1)).toMatchObject([{ jobId: id }]);
});

test('Past the stall limit BullMQ hands the job out again, only marked with a deferred failure', async () => {
  const world = await queueWorld(server.url, SHORT);
  const id = await world.submit();
  const marks: (string | undefined)[] = [];
  for (let stall = 0; stall < 7; stall++) {
    const [claim] = await world.claim(GROUP, 1);
    marks.push(claim.deferredFailure);
    await vi.waitFor(async () => expect(await leaseTtl(world, id)).toBe(-2), SLOW_MACHINE);
    await recoverUntilFound(world);
  }
  expect(marks.slice(0, 6)).toEqual(Array(6).fill(undefined));
  expect(marks[6]).toMatch(/stalled/);
});

test('Only the holder of the lease can finish a job; for a lost lease the call returns false and changes nothing', async () => {
  const world = await queueWorld(server.url, { stalledCheckMs: SHORT.stalledCheckMs });
  const id = await world.submit();
  const [first] = await world.claim(GROUP, 1);
  await world.redis.del(leaseKey(world, id));
  await recoverUntilFound(world);
  const [second] = await world.claim(GROUP, 1);
  const queue = world.queues.of(GROUP);
  expect(await queue.complete(first)).toBe(false);
  expect(await queue.handBack(first, firstScore('standard'))).toBe(false);
  expect(await queue.complete(second)).toBe(true);
  expect(await queue.complete(second)).toBe(false);
});

test('Finishing a job does not claim the next one', async () => {
  const world = await queueWorld(server.url);
  await world.submit();
  await world.submit();
  const [claim] = await world.claim(GROUP, 1);
  expect(await world.queues.of(GROUP).complete(claim)).toBe(true);
  expect(await world.claimer.findWork(['tiny@1'])).toMatchObject([{ waiting: 1 }]);
  const queue = new Queue(GROUP, { connection: world.redis, prefix: world.keys.prefix });
  onTestFinished(() => queue.close());
  expect(await queue.getActiveCount()).toBe(0);
});

test('A job without a priority runs before priority 1, so every job has a priority', async () => {
  const world = await queueWorld(server.url);
  const queue = new Queue(GROUP, { connection: world.redis, prefix: world.keys.prefix });
  onTestFinished(() => queue.close());
  await queue.add('ranked', {}, { jobId: 'ranked', priority: 1 });
  await queue.add('bare', {}, { jobId: 'bare' });
  expect((await world.claim(GROUP, 1))[0].jobId).toBe('bare');

  const urgent = await world.submit({ priority: 'interactive' });
  const [claim] = await world.claim(GROUP, 1);
  expect(claim.jobId).toBe(urgent);
  expect((await queue.getJob(urgent))?.opts.priority).toBeGreaterThan(0);
  expect(await world.claim(GROUP, 1)).toMatchObject([{ jobId: 'ranked' }]);
});

test('A more urgent class always runs first, and jobs of one class and rank run in order of arrival', async () => {
  const world = await queueWorld(server.url);
  const bulk = await world.submit({ priority: 'bulk' });
  const standard = [await world.submit(), await world.submit()];
  const urgent = await world.submit({ priority: 'interactive' });
  const claims = await world.claim(GROUP, 4);
  expect(claims.map((claim) => claim.jobId)).toEqual([urgent, ...standard, bulk]);
});

test('BullMQ accepts progress without a lease, so progress goes through the record, which requires one', async () => {
  const world = await queueWorld(server.url);
  const id = await world.submit();
  const [claim] = await world.claim(GROUP, 1);
  await world.records.apply([{ move: 'start', id, lease: claim.token, fields: { worker: 'w' } }]);
  const queue = new Queue(GROUP, { connection: world.redis, prefix: world.keys.prefix });
  onTestFinished(() => queue.close());
  const withoutLease = await queue.getJob(id);
  await withoutLease?.updateProgress(99);
  expect((await queue.getJob(id))?.progress).toBe(99);

  const progress = { fraction: 0.5, stage: 'denoise', step: 1, steps: 2 };
  const lease = newLeaseToken(world.worker);
  const [refused] = await world.records.apply([{ move: 'progress', id, lease, fields: { progress } }]);
  expect(refused.code).toBe('stale');
});

test('A job handed back goes to the front, keeps its attempts and wakes an idle worker', async () => {
  const world = await queueWorld(server.url);
  const first = await world.submit();
  const later = await world.submit();
  const [claim] = await world.claim(GROUP, 1);
  expect(claim.jobId).toBe(first);

  // Drain the marker, then sleep as an idle worker would.
  const other = await world.another();
  expect(await other.claimer.wait([GROUP])).toBe(GROUP);
  const woken = other.claimer.wait([GROUP]);
  expect(await world.queues.of(GROUP).handBack(claim, firstScore('standard'))).toBe(true);
  expect(await woken).toBe(GROUP);

  const claims = await other.claim(GROUP, 2);
  expect(claims.map(({ jobId }) => jobId)).toEqual([first, later]);
  const queue = new Queue(GROUP, { connection: world.redis, prefix: world.keys.prefix });
  onTestFinished(() => queue.close());
  expect(await queue.getJob(first)).toMatchObject({ attemptsMade: 0, stalledCounter: 0 });
});

test('A BullMQ worker closes without waiting for jobs claimed with getNextJob', async () => {
  const keys = freshKeys();
  const queue = new Queue('direct-claim', { connection: testRedis(server.url), prefix: keys.prefix });
  const worker = new Worker('direct-claim', null, { connection: { url: server.url }, prefix: keys.prefix });
  onTestFinished(() => queue.close());
  await queue.add('job', {});
  const job = await worker.getNextJob('token', { block: false });
  await worker.close();
  expect(await queue.getActiveCount()).toBe(1);
  await expect(job?.moveToCompleted('late', 'token', false)).rejects.toThrow(/closed/i);
});

test('A failed child releases its parent with a deferred failure if failParentOnFailure is set; otherwise the parent never leaves the waiting state', async () => {
  const world = await queueWorld(server.url);
  const flow = new FlowProducer({ connection: testRedis(server.url), prefix: world.keys.prefix });
  const parents = new Queue('parents', { connection: world.redis, prefix: world.keys.prefix });
  onTestFinished(async () => {
    await flow.close();
    await parents.close();
  });
  for (const failParentOnFailure of [true, false]) {
    await flow.add({
      name: 'parent',
      queueName: 'parents',
      opts: { jobId: `parent-${failParentOnFailure}`, priority: 1 },
      children: [{ name: 'child', queueName: GROUP, opts: { priority: 1, failParentOnFailure } }],
    });
    const [child] = await world.claim(GROUP, 1);
    expect(await world.queues.of(GROUP).fail(child, 'broken')).toBe(true);
  }
  expect(await world.claim('parents', 2)).toMatchObject([
    { jobId: 'parent-true', deferredFailure: expect.stringContaining('failed') },
  ]);
  expect(await parents.getWaitingChildrenCount()).toBe(1);
});

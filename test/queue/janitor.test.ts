import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { type JobId, newJobId, silentLog, systemClock } from '../../packages/shared/src/index.ts';
import {
  expireOverdue,
  Janitor,
  requeueLost,
  WORKFLOW_QUEUE,
  WorkflowRunner,
} from '../../packages/shared/src/queue/index.ts';
import { WorkLock } from '../../packages/shared/src/queue/work-lock.ts';
import type { RecordStore } from '../../packages/shared/src/records/index.ts';
import { redisNow } from '../../packages/shared/src/redis/index.ts';
import { GROUP, newJob, type QueueWorld, queueWorld } from '../support/queue-world.ts';
import { startRedis, type TestRedis, testRedis } from '../support/redis.ts';
import { SLOW_MACHINE } from '../support/timeouts.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const manyJobs = (count: number, submit: () => Promise<JobId>): Promise<JobId[]> =>
  Promise.all(Array.from({ length: count }, submit));

function janitor(world: QueueWorld): Janitor {
  const options = { everyMs: 60_000, reconcileEveryMs: 60_000, clock: systemClock, log: silentLog };
  return new Janitor({ ...world, ...options });
}

/** Past the time in which a job may still be on its way into its queue. */
const later = async ({ redis }: QueueWorld): Promise<number> => (await redisNow(redis)) + 60_000;

test('A lock that is held longer than its lifetime stays with its holder', async () => {
  const { redis, keys } = await queueWorld(server.url);
  const [first, second] = [new WorkLock(redis, keys.janitor, 300), new WorkLock(redis, keys.janitor, 300)];
  const order: string[] = [];
  const holding = first.hold(async (signal) => {
    for (let i = 0; i < 5; i++) {
      await systemClock.sleep(200, signal);
      await second.hold(async () => void order.push('second'));
    }
    order.push('first');
  });
  expect(await holding).toBe(true);
  expect(order).toEqual(['first']);
  await first.release();
  expect(await second.hold(async () => {})).toBe(true);
});

test('The work under a lock is told to stop when the lock goes to another process', async () => {
  const { redis, keys } = await queueWorld(server.url);
  const lock = new WorkLock(redis, keys.janitor, 300);
  await lock.hold(async (signal) => {
    await redis.set(keys.janitor, 'another process');
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
  });
  expect(await redis.get(keys.janitor)).toBe('another process');
});

test('A janitor that takes over does not search all records again before the search is due', async () => {
  const world = await queueWorld(server.url);
  await janitor(world).round();
  const lost = newJob();
  await world.records.create(lost, async () => {});
  await world.redis.zadd(world.keys.live, 1, lost.id);
  await janitor(world).round();
  expect(await world.claim(GROUP, 1)).toEqual([]);
  await world.redis.del(world.keys.reconciled);
  await janitor(world).round();
  expect(await world.claim(GROUP, 1)).toMatchObject([{ jobId: lost.id }]);
});

test('A janitor says what it repaired and removed, and says nothing after a round without work', async () => {
  const world = await queueWorld(server.url);
  const done: [string, number][] = [];
  const options = { everyMs: 60_000, reconcileEveryMs: 60_000, clock: systemClock, log: silentLog };
  const counting = new Janitor({ ...world, ...options, onDone: (...what) => void done.push(what) });
  await world.submit();
  await counting.round();
  expect(done).toEqual([]);
  const lost = newJob();
  await world.records.create(lost, async () => {});
  await world.redis.zadd(world.keys.live, 1, lost.id);
  await world.redis.del(world.keys.reconciled);
  const overdue = await world.submit();
  await world.redis.zadd(world.keys.deadlines, 1, overdue);
  await counting.round();
  expect(done).toEqual([
    ['expired', 1],
    ['requeued', 1],
  ]);
});

test('Every lost job is found although many jobs end during the search', async () => {
  const world = await queueWorld(server.url);
  const ending = await manyJobs(1200, () => world.submit());
  const lost = await manyJobs(1200, async () => {
    const job = newJob();
    await world.records.create(job, async () => {});
    return job.id;
  });
  let isFirst = true;
  const records = new Proxy(world.records, {
    get(target, name: keyof RecordStore) {
      const value = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return async (...args: never[]) => {
        const result = await (value as (...args: never[]) => unknown).apply(target, args);
        if (isFirst) {
          isFirst = false;
          await target.apply(ending.map((id) => ({ move: 'cancel', id })));
        }
        return result;
      };
    },
  });
  const found = await requeueLost(world.redis, world.keys, world.queues, records, await later(world));
  expect(found.filter((id) => lost.includes(id))).toHaveLength(lost.length);
});

test('A search for lost jobs reads no record of the jobs that are in their queues', async () => {
  const world = await queueWorld(server.url);
  await manyJobs(1000, () => world.submit());
  const lost = newJob();
  await world.records.create(lost, async () => {});
  const now = await later(world);
  await world.redis.config('RESETSTAT');
  expect(await requeueLost(world.redis, world.keys, world.queues, world.records, now)).toEqual([lost.id]);
  const stats = await world.redis.info('commandstats');
  const calls = (command: string): number =>
    Number(new RegExp(`^cmdstat_${command}:calls=(\\d+)`, 'm').exec(stats)?.[1] ?? 0);
  expect(calls('hgetall'), 'whole records that were read').toBe(0);
  expect(calls('hmget'), 'two reads of a few fields for a job, and some for the lost one').toBeLessThan(
    2 * 1001 + 10,
  );
  expect(calls('evalsha') + calls('eval'), 'slices, and the writes for the lost job').toBeLessThan(30);
});

test('All overdue jobs expire in one round, also behind running jobs that their workers must stop', async () => {
  const world = await queueWorld(server.url);
  const running = await manyJobs(150, () => world.submit({ deadline_at: 4_000_000_000_000 }));
  const claims = await world.claim(GROUP, running.length);
  await world.records.apply(
    claims.map(({ jobId, token }) => ({ move: 'start', id: jobId, lease: token, fields: { worker: 'w' } })),
  );
  for (const id of running) await world.redis.zadd(world.keys.deadlines, 1, id);
  const overdue = await manyJobs(1300, () => world.submit({ deadline_at: 2 }));
  const now = await redisNow(world.redis);
  const expired = await expireOverdue(world.redis, world.keys, world.queues, world.records, now);
  expect(new Set(expired.map(({ id }) => id))).toEqual(new Set(overdue));
  expect(await world.claimer.findWork(['tiny@1'])).toEqual([]);
});

test('A deadline without a record is forgotten', async () => {
  const world = await queueWorld(server.url);
  await world.redis.zadd(world.keys.deadlines, 1, newJobId());
  await expireOverdue(world.redis, world.keys, world.queues, world.records, 2);
  expect(await world.redis.zcard(world.keys.deadlines)).toBe(0);
});

test('One round advances all workflows that are due, however many', async () => {
  const world = await queueWorld(server.url);
  for (let i = 0; i < 300; i++) await world.redis.zadd(world.keys.workflows, 1, newJobId());
  expect(await new WorkflowRunner(world).sweep()).toBe(300);
  expect(await world.redis.zcard(world.keys.workflows)).toBe(0);
});

test('Two processes that start a node at the same moment charge its tenant once', async () => {
  const world = await queueWorld(server.url);
  const runner = new WorkflowRunner(world);
  const node = {
    id: 'a',
    job: newJobId(),
    type: 'text-to-image',
    model: 'tiny@1',
    queue: GROUP,
    cost: 500,
  } as const;
  const workflow = { nodes: [{ ...node, after: [] }] };
  const input = { nodes: [{ id: 'a', input: { prompt: 'x' } }] };
  const job = newJob({ type: 'workflow', model: 'workflow@1', queue: WORKFLOW_QUEUE, input, workflow });
  await world.records.create(job, () => world.queues.of(WORKFLOW_QUEUE).addParent(job, 1));
  await Promise.all(Array.from({ length: 8 }, () => runner.advance(job.id)));
  const tag = await world.redis.zscore(world.keys.fairTags(GROUP, 'standard'), job.tenant);
  expect(Number(tag)).toBe(500);
  expect(await world.redis.hlen(world.keys.reserved)).toBe(0);
  expect(await world.claim(GROUP, 2)).toHaveLength(1);
});

test('The node of a process that died before storing it is started by the next one', async () => {
  const world = await queueWorld(server.url);
  const runner = new WorkflowRunner(world);
  const node = {
    id: 'a',
    job: newJobId(),
    type: 'text-to-image',
    model: 'tiny@1',
    queue: GROUP,
    cost: 500,
  } as const;
  const workflow = { nodes: [{ ...node, after: [] }] };
  const input = { nodes: [{ id: 'a', input: { prompt: 'x' } }] };
  const job = newJob({ type: 'workflow', model: 'workflow@1', queue: WORKFLOW_QUEUE, input, workflow });
  await world.records.create(job, () => world.queues.of(WORKFLOW_QUEUE).addParent(job, 1));
  // What an admission leaves behind whose process was killed before it stored the node.
  await world.redis.hset(world.keys.reserved, node.job, job.tenant);
  await world.redis.zadd(world.keys.live, (await redisNow(world.redis)) - 5000, node.job);
  await runner.advance(job.id);
  expect(await world.claim(GROUP, 1)).toMatchObject([{ jobId: node.job }]);
});

test('A janitor that was stopped leaves the lock to another one at once', async () => {
  const world = await queueWorld(server.url);
  const first = janitor(world);
  first.start();
  await vi.waitFor(
    async () => expect(await world.redis.get(world.keys.janitor)).not.toBeNull(),
    SLOW_MACHINE,
  );
  await first.stop();
  expect(await world.redis.get(world.keys.janitor)).toBeNull();
  onTestFinished(() => first.stop());
});

test('A queue and a job that fail do not keep others from being recovered, and the round reports that they failed', async () => {
  const world = await queueWorld(server.url);
  const { redis, keys, queues, records } = world;
  // Keys of another kind than BullMQ's: every command on them fails.
  await redis.sadd(keys.groups, 'diffusion.broken@1.64x64');
  await redis.set(queues.of('diffusion.broken@1.64x64').activeKey, 'broken');
  const deadline_at = await redisNow(redis);
  const overdue = await world.submit({ deadline_at });
  const lost = [newJob(), newJob(), newJob()];
  for (const job of lost) await records.create(job, async () => {});
  const [broken, ...others] = lost.map(({ id }) => id);
  await redis.set(queues.of(GROUP).jobKey(broken), 'broken');
  for (const id of [broken, ...others]) await redis.zadd(keys.live, 0, id);
  await expect(janitor(world).round()).rejects.toMatchObject({
    errors: [{ message: '1 queues were not recovered' }, { message: '1 lost jobs to requeue failed' }],
  });
  expect((await records.read(overdue))?.state).toBe('expired');
  const claims = await world.claim(GROUP, 5);
  expect(claims.map(({ jobId }) => jobId).sort()).toEqual(others.sort());
});

test('A reservation is kept until the idempotency key of its request is free', async () => {
  const world = await queueWorld(server.url);
  const [id, key] = [newJobId(), world.keys.idempotency('hash')];
  await world.redis.set(key, `${id} fingerprint`);
  await world.redis.hset(world.keys.reserved, id, `default ${key}`);
  await world.redis.zadd(world.keys.live, 1, id);
  await world.redis.call('ACL', 'SETUSER', 'limited', 'on', '>secret', '~*', '&*', '+@all', '-del');
  const url = new URL(server.url);
  const limited = testRedis(`redis://limited:secret@${url.host}`);
  onTestFinished(() => limited.disconnect());
  const parts = [world.keys, world.queues, world.records] as const;
  await expect(requeueLost(limited, ...parts, await later(world))).rejects.toThrow('NOPERM');
  expect(await world.redis.hexists(world.keys.reserved, id)).toBe(1);
  await requeueLost(world.redis, ...parts, await later(world));
  expect(await world.redis.exists(key, world.keys.reserved)).toBe(0);
});

import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  newJobId,
  newLeaseToken,
  type PriorityClass,
  type TenantId,
} from '../../packages/shared/src/index.ts';
import {
  type Admission,
  type AdmissionTerms,
  Admitter,
  classOfScore,
  type PricedJob,
  recoverStalled,
  requeueLost,
} from '../../packages/shared/src/queue/index.ts';
import { redisNow } from '../../packages/shared/src/redis/index.ts';
import { GROUP, newJob, type QueueWorld, queueWorld } from '../support/queue-world.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const tenant = (name: string): TenantId => name as TenantId;

/** A job of one group, and what it is held against. */
type Asked = Pick<PricedJob, 'id' | 'tenant' | 'queue' | 'priority' | 'cost' | 'payer'> &
  AdmissionTerms & {
    readonly workers?: number;
    readonly elsewhereMs?: number;
    readonly elsewhereGroups?: number;
  };

interface AdmissionWorld extends QueueWorld {
  ask(fields?: Partial<Asked>): Promise<Admission>;
  /** Requests admission and stores the admitted job. */
  enter(fields?: Partial<Asked>): Promise<string>;
  /** Claims, starts and ends jobs one by one; returns their tenants in the order they ran. */
  serve(count: number): Promise<string[]>;
}

async function admissionWorld(): Promise<AdmissionWorld> {
  const world = await queueWorld(server.url);
  const admitter = new Admitter(world.redis, world.keys);
  const askedOf = (fields: Partial<Asked>): Asked => ({
    id: newJobId(),
    tenant: tenant('default'),
    queue: GROUP,
    priority: 'standard',
    cost: 1000,
    maxJobs: 100_000,
    ...fields,
  });
  const admit = (asked: Asked): Promise<Admission> => {
    const { queue, cost, workers = 1, elsewhereMs = 0, elsewhereGroups = 0 } = asked;
    return admitter.admit(asked, {
      groups: [{ queue, cost, workers, elsewhereMs, elsewhereGroups }],
      ...asked,
    });
  };
  return {
    ...world,
    ask: (fields = {}) => admit(askedOf(fields)),
    enter: async (fields = {}) => {
      const asked = askedOf(fields);
      const admission = await admit(asked);
      if (admission.code !== 'admitted') throw new Error(JSON.stringify(admission));
      const { id, priority, cost, queue } = asked;
      const job = newJob({
        id,
        tenant: asked.tenant,
        priority,
        cost,
        queue,
        fair_tag: admission.startTag,
        score: admission.score,
      });
      await world.records.create(job, () => world.queues.of(queue).add(job, admission.score));
      return id;
    },
    serve: async (count) => {
      const served: string[] = [];
      for (let i = 0; i < count; i++) {
        const [claim] = await world.claim(GROUP, 1);
        const lease = newLeaseToken(world.worker);
        const [outcome] = await world.records.apply([
          { move: 'start', id: claim.jobId, lease, fields: { worker: world.worker } },
          { move: 'cancel', id: claim.jobId, lease },
        ]);
        await world.queues.of(GROUP).complete(claim);
        served.push(outcome.record?.tenant ?? '');
      }
      return served;
    },
  };
}

test('A tenant that floods the queue does not delay another: ten jobs after ten thousand are among the next 21', {
  tags: ['long'],
}, async () => {
  const world = await admissionWorld();
  // In parts: the last of ten thousand commands sent at once would wait for all others, longer than its timeout.
  for (let part = 0; part < 20; part++) {
    await Promise.all(Array.from({ length: 500 }, () => world.enter({ tenant: tenant('a') })));
  }
  await world.serve(5);
  for (let i = 0; i < 10; i++) await world.enter({ tenant: tenant('b') });
  const next = await world.serve(21);
  expect(next.filter((name) => name === 'b')).toHaveLength(10);
});

test('Tenants of equal weight get equal shares of the cost, not of the number of jobs', async () => {
  const world = await admissionWorld();
  for (let i = 0; i < 200; i++) await world.enter({ tenant: tenant('small'), cost: 1000 });
  for (let i = 0; i < 50; i++) await world.enter({ tenant: tenant('large'), cost: 4000 });
  // Short jobs go first for a while; then the tenants alternate.
  await world.serve(60);
  const served = await world.serve(100);
  const small = served.filter((name) => name === 'small').length;
  const large = served.filter((name) => name === 'large').length;
  expect(small / (large * 4)).toBeGreaterThan(0.75);
  expect(small / (large * 4)).toBeLessThan(1.33);
});

test('A tenant of double weight gets about double the share', async () => {
  const world = await admissionWorld();
  for (let i = 0; i < 60; i++) {
    await world.enter({ tenant: tenant('double'), payer: { key: 'k', budget_ms: null, weight: 2 } });
    await world.enter({ tenant: tenant('single') });
  }
  const served = await world.serve(60);
  const ratio =
    served.filter((name) => name === 'double').length / served.filter((name) => name === 'single').length;
  expect(ratio).toBeGreaterThan(1.6);
  expect(ratio).toBeLessThan(2.5);
});

test('A short job overtakes long ones that have not waited long, and a long one is overtaken only for a limited time', async () => {
  const world = await admissionWorld();
  for (let i = 0; i < 3; i++) await world.enter({ tenant: tenant('long'), cost: 50_000 });
  await world.enter({ tenant: tenant('short'), cost: 1000 });
  expect(await world.serve(1)).toEqual(['short']);

  for (let round = 0; ; round++) {
    expect(round).toBeLessThan(500);
    await world.enter({ tenant: tenant('short'), cost: 1000 });
    if ((await world.serve(1))[0] === 'long') break;
  }
});

test('Jobs of a more urgent class run first, however much their tenant has used', async () => {
  const world = await admissionWorld();
  for (let i = 0; i < 20; i++) await world.enter({ tenant: tenant('a'), priority: 'interactive' });
  await world.enter({ tenant: tenant('b'), priority: 'bulk' });
  expect((await world.serve(20)).every((name) => name === 'a')).toBe(true);
});

test('Scores stay inside their class, however long the queue is', async () => {
  const world = await admissionWorld();
  for (const priority of ['interactive', 'standard', 'bulk'] as const satisfies PriorityClass[]) {
    for (let i = 0; i < 5; i++) {
      const admission = await world.ask({ priority, cost: 10_000_000 });
      expect(admission.code === 'admitted' && classOfScore(admission.score)).toBe(priority);
    }
  }
});

test('A queue that is busy for years of engine time keeps its order, and the scores of waiting jobs never change', async () => {
  const world = await admissionWorld();
  const { prioritizedKey } = world.queues.of(GROUP);
  const cost = 100 * 86_400_000;
  for (let i = 0; i < 6; i++) await world.enter({ tenant: tenant(`t${i % 3}`), cost });
  const order: string[] = [];
  for (let round = 0; round < 60; round++) {
    const before = await world.redis.zrange(prioritizedKey, '0', '-1', 'WITHSCORES');
    await world.enter({ tenant: tenant(`t${round % 3}`), cost });
    expect(await world.redis.zrange(prioritizedKey, '0', '-1', 'WITHSCORES')).toEqual(
      expect.arrayContaining(before),
    );
    order.push(...(await world.serve(1)));
  }
  for (const name of ['t0', 't1', 't2']) {
    expect(order.filter((each) => each === name).length).toBeGreaterThanOrEqual(18);
  }
  await world.enter({ tenant: tenant('new'), cost: 1000 });
  expect(await world.serve(1)).toEqual(['new']);
});

test('A queue that ten thousand tenants used still admits jobs after it was idle, and removes their tags gradually', async () => {
  const world = await admissionWorld();
  const asked: Promise<unknown>[] = [];
  for (let i = 0; i < 10_000; i++) asked.push(world.ask({ tenant: tenant(`t${i}`) }));
  await Promise.all(asked);
  const tags = world.keys.fairTags(GROUP, 'standard');
  expect(await world.redis.zcard(tags)).toBe(10_000);
  // The last admission is long enough ago for the queue to count as idle.
  await world.redis.hset(world.keys.fair(GROUP), 'standard :last', 0);
  for (let i = 0; i < 800; i++) expect(await world.ask()).toMatchObject({ code: 'admitted' });
  expect(await world.redis.zcard(tags)).toBe(1);
});

test("A job is refused for its own tenant's wait; the backlog of another tenant does not count", async () => {
  const world = await admissionWorld();
  const limits = { maxWaitMs: 60_000, workers: 1 };
  for (let i = 0; i < 50; i++) await world.enter({ tenant: tenant('flood'), cost: 10_000 });
  expect(await world.ask({ ...limits, tenant: tenant('flood') })).toMatchObject({ code: 'overloaded' });
  for (let i = 0; i < 5; i++) {
    const admission = await world.ask({ ...limits, tenant: tenant('polite'), cost: 1000 });
    expect(admission).toMatchObject({ code: 'admitted' });
  }
});

test("Work in other groups delays a job at most as much as the job's own group does", async () => {
  const world = await admissionWorld();
  const elsewhere = { elsewhereMs: 3_600_000, elsewhereGroups: 2, maxWaitMs: 5000 };
  expect(await world.ask({ ...elsewhere, cost: 1000 })).toMatchObject({ code: 'admitted' });
  expect(await world.ask({ ...elsewhere, cost: 10_000 })).toEqual({ code: 'overloaded', waitMs: 20_000 });
});

test('A job that is handed back or recovered keeps its class and its place', async () => {
  const world = await admissionWorld();
  const queue = world.queues.of(GROUP);
  const bulk = await world.enter({ priority: 'bulk' });
  const [claim] = await world.claim(GROUP, 1);
  const first = await world.enter({ priority: 'interactive' });
  const score = await world.redis.zscore(queue.prioritizedKey, first);
  expect(await queue.handBack(claim, 2 ** 52 + 8000)).toBe(true);
  expect(await world.redis.zrange(queue.prioritizedKey, '0', '-1')).toEqual([first, bulk]);

  const [stalled] = await world.claim(GROUP, 1);
  expect(stalled.jobId).toBe(first);
  await world.redis.del(`${queue.jobKey(stalled.jobId)}:lock`);
  const second = await world.enter({ priority: 'interactive' });
  await expect
    .poll(() => recoverStalled(world.redis, world.keys, world.queues, world.records))
    .toEqual([first]);
  expect(await world.redis.llen(queue.waitKey)).toBe(0);
  expect(await world.redis.zscore(queue.prioritizedKey, first)).toBe(score);
  expect(await world.redis.zrange(queue.prioritizedKey, '0', '-1')).toEqual([first, second, bulk]);
});

test('A tenant at its limit of jobs is refused until one of them ends', async () => {
  const world = await admissionWorld();
  for (let i = 0; i < 3; i++) await world.enter({ maxJobs: 3 });
  expect(await world.ask({ maxJobs: 3 })).toEqual({ code: 'too-many', count: 3, of: 'live' });
  expect(await world.ask({ maxJobs: 3, tenant: tenant('other') })).toMatchObject({ code: 'admitted' });
  await world.serve(1);
  expect(await world.ask({ maxJobs: 3 })).toMatchObject({ code: 'admitted' });
});

test('The janitor frees a reservation whose job was never stored', async () => {
  const world = await admissionWorld();
  await world.ask({ maxJobs: 1 });
  expect(await world.ask({ maxJobs: 1 })).toMatchObject({ code: 'too-many' });
  const later = (await redisNow(world.redis)) + 60_000;
  await requeueLost(world.redis, world.keys, world.queues, world.records, later);
  expect(await world.ask({ maxJobs: 1 })).toMatchObject({ code: 'admitted' });
});

test('Fifty concurrent requests never exceed the limit of ten jobs', async () => {
  const world = await admissionWorld();
  const asked = await Promise.all(Array.from({ length: 50 }, () => world.ask({ maxJobs: 10 })));
  expect(asked.filter(({ code }) => code === 'admitted')).toHaveLength(10);
});

test('A job that would wait too long behind its own and more urgent classes is refused with the expected wait', async () => {
  const world = await admissionWorld();
  for (let i = 0; i < 10; i++)
    await world.enter({ cost: 1000, priority: i < 5 ? 'interactive' : 'standard' });
  const limits = { maxWaitMs: 6000, workers: 1 };
  expect(await world.ask({ ...limits, priority: 'standard' })).toEqual({
    code: 'overloaded',
    waitMs: 10_000,
  });
  expect(await world.ask({ ...limits, priority: 'interactive' })).toMatchObject({ code: 'admitted' });
  expect(await world.ask({ ...limits, workers: 2 })).toMatchObject({ code: 'admitted' });
});

test('The load of a group follows its waiting jobs when they start, end or are requeued', async () => {
  const world = await admissionWorld();
  const load = async (): Promise<number> =>
    Number(await world.redis.hget(world.keys.load(GROUP), 'standard'));
  await world.enter({ cost: 1500 });
  await world.enter({ cost: 500 });
  expect(await load()).toBe(2000);
  const [claim] = await world.claim(GROUP, 1);
  const lease = newLeaseToken(world.worker);
  const move = { id: claim.jobId, lease, fields: { worker: 'w' } };
  await world.records.apply([{ move: 'start', ...move }]);
  const running = await load();
  await world.records.apply([{ move: 'requeue', id: claim.jobId, lease }]);
  expect(await load()).toBe(2000);
  expect([500, 1500]).toContain(running);
  await world.records.apply([{ move: 'cancel', id: claim.jobId }]);
  expect(await load()).toBe(running);
});

test('Of fifty requests with one idempotency key one is admitted and the others get its id', async () => {
  const world = await admissionWorld();
  const idempotency = { hash: 'caller-and-key', fingerprint: 'route-and-body' };
  const asked = await Promise.all(Array.from({ length: 50 }, () => world.ask({ idempotency })));
  const admitted = asked.filter(({ code }) => code === 'admitted');
  expect(admitted).toHaveLength(1);
  // The record is not written yet, so the others are pending.
  const pending = asked.flatMap((each) => (each.code === 'pending' ? [each.id] : []));
  expect(pending).toHaveLength(49);
  expect(new Set(pending)).toEqual(new Set(admitted.map((each) => each.code === 'admitted' && each.id)));
  expect(await world.ask({ idempotency: { ...idempotency, fingerprint: 'other' } })).toEqual({
    code: 'mismatch',
  });
});

test('After a step back of the clock of Redis, a retry takes over an admission of a dead process within a second', async () => {
  const world = await admissionWorld();
  const request = { idempotency: { hash: 'hash', fingerprint: 'body' } };
  const first = await world.ask(request);
  if (first.code !== 'admitted') throw new Error(first.code);
  const { redis, keys } = world;
  await redis.zadd(keys.live, (await redisNow(redis)) + 14 * 60_000, first.id);
  expect(await world.ask(request)).toEqual({ code: 'pending', id: first.id });
  expect(Number(await redis.zscore(keys.live, first.id))).toBeLessThanOrEqual(await redisNow(redis));
  await redis.zadd(keys.live, (await redisNow(redis)) - 1001, first.id);
  expect(await world.ask(request)).toMatchObject({ code: 'admitted', id: first.id });
});

test('A requested webhook event is added to the outbox once, by the move that causes it', async () => {
  const world = await queueWorld(server.url);
  const id = await world.submit({ hook_events: 'job.started job.canceled' });
  const lease = newLeaseToken(world.worker);
  const second = newLeaseToken(world.worker);
  await world.records.apply([
    { move: 'start', id, lease, fields: { worker: 'w' } },
    { move: 'start', id, lease: second, fields: { worker: 'w' } },
    { move: 'cancel', id, lease: second },
  ]);
  expect((await world.redis.zrange(world.keys.outbox, '0', '-1')).sort()).toEqual([
    `${id} job.canceled`,
    `${id} job.started`,
  ]);
});

import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  newJobId,
  newLeaseToken,
  type PriorityClass,
  type TenantId,
} from '../../packages/shared/src/index.ts';
import {
  type Admission,
  AdmissionDesk,
  type AdmissionRequest,
  classOfRank,
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

interface DeskWorld extends QueueWorld {
  ask(fields?: Partial<AdmissionRequest>): Promise<Admission>;
  /** Asks and, when admitted, stores the job in its place. */
  enter(fields?: Partial<AdmissionRequest>): Promise<string>;
  /** Claims and starts jobs one by one; returns what `name` gives for each, in the order they ran. */
  serve(count: number): Promise<string[]>;
}

async function deskWorld(): Promise<DeskWorld> {
  const world = await queueWorld(server.url);
  const desk = new AdmissionDesk(world.redis, world.keys, world.queues);
  const applicant = (fields: Partial<AdmissionRequest>): AdmissionRequest => ({
    id: newJobId(),
    tenant: tenant('default'),
    queue: GROUP,
    priority: 'standard',
    cost: 1000,
    maxJobs: 100_000,
    weight: 1,
    maxWaitMs: Number.MAX_SAFE_INTEGER,
    workers: 1,
    ...fields,
  });
  return {
    ...world,
    ask: (fields = {}) => desk.ask(applicant(fields)),
    enter: async (fields = {}) => {
      const asked = applicant(fields);
      const admission = await desk.ask(asked);
      if (admission.code !== 'admitted') throw new Error(JSON.stringify(admission));
      const { id, priority, cost, queue } = asked;
      const job = newJob({ id, tenant: asked.tenant, priority, cost, queue, fair_tag: admission.startTag });
      await world.records.create(job, () => world.queues.of(queue).add(job, admission.rank));
      return id;
    },
    serve: async (count) => {
      const served: string[] = [];
      for (let i = 0; i < count; i++) {
        const [claim] = await world.claimer.claim(GROUP, 1);
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

test('a flood by one tenant does not keep another waiting: ten jobs behind ten thousand are among the next twenty', async () => {
  const world = await deskWorld();
  const flood: Promise<string>[] = [];
  for (let i = 0; i < 10_000; i++) flood.push(world.enter({ tenant: tenant('a') }));
  await Promise.all(flood);
  await world.serve(5);
  for (let i = 0; i < 10; i++) await world.enter({ tenant: tenant('b') });
  const next = await world.serve(21);
  expect(next.filter((name) => name === 'b')).toHaveLength(10);
});

test('tenants of equal weight share by cost, not by number of jobs', async () => {
  const world = await deskWorld();
  for (let i = 0; i < 200; i++) await world.enter({ tenant: tenant('small'), cost: 1000 });
  for (let i = 0; i < 50; i++) await world.enter({ tenant: tenant('large'), cost: 4000 });
  // Short jobs go first for a while; then the two take turns.
  await world.serve(60);
  const served = await world.serve(100);
  const small = served.filter((name) => name === 'small').length;
  const large = served.filter((name) => name === 'large').length;
  expect(small / (large * 4)).toBeGreaterThan(0.75);
  expect(small / (large * 4)).toBeLessThan(1.33);
});

test('a tenant of double weight gets about double the share', async () => {
  const world = await deskWorld();
  for (let i = 0; i < 60; i++) {
    await world.enter({ tenant: tenant('double'), weight: 2 });
    await world.enter({ tenant: tenant('single') });
  }
  const served = await world.serve(60);
  const ratio =
    served.filter((name) => name === 'double').length / served.filter((name) => name === 'single').length;
  expect(ratio).toBeGreaterThan(1.6);
  expect(ratio).toBeLessThan(2.5);
});

test('a short job overtakes long ones that have not waited long, and a long one is not overtaken for ever', async () => {
  const world = await deskWorld();
  for (let i = 0; i < 3; i++) await world.enter({ tenant: tenant('long'), cost: 50_000 });
  await world.enter({ tenant: tenant('short'), cost: 1000 });
  expect(await world.serve(1)).toEqual(['short']);

  for (let round = 0; ; round++) {
    expect(round).toBeLessThan(500);
    await world.enter({ tenant: tenant('short'), cost: 1000 });
    if ((await world.serve(1))[0] === 'long') break;
  }
});

test('a more urgent class goes first whatever its tenant has used', async () => {
  const world = await deskWorld();
  for (let i = 0; i < 20; i++) await world.enter({ tenant: tenant('a'), priority: 'interactive' });
  await world.enter({ tenant: tenant('b'), priority: 'bulk' });
  expect((await world.serve(20)).every((name) => name === 'a')).toBe(true);
});

test('ranks stay inside their class however long the line gets', async () => {
  const world = await deskWorld();
  for (const priority of ['interactive', 'standard', 'bulk'] as const satisfies PriorityClass[]) {
    for (let i = 0; i < 5; i++) {
      const admission = await world.ask({ priority, cost: 10_000_000 });
      expect(admission.code === 'admitted' && classOfRank(admission.rank)).toBe(priority);
    }
  }
});

test('a line that is never empty moves up as a whole before its ranks run out, and keeps its order', async () => {
  const world = await deskWorld();
  const cost = 600_000;
  for (let i = 0; i < 3; i++) await world.enter({ tenant: tenant(`t${i}`), cost });
  const order: string[] = [];
  for (let round = 0; round < 60; round++) {
    await world.enter({ tenant: tenant(`t${round % 3}`), cost });
    order.push(...(await world.serve(1)));
  }
  for (const name of ['t0', 't1', 't2']) {
    expect(order.filter((each) => each === name).length).toBeGreaterThanOrEqual(18);
  }
  const turn = Number(await world.redis.hget(world.keys.fair(GROUP), 'standard'));
  expect(turn).toBeLessThan(699_050);
});

test('a tenant with its share of jobs is refused until one of them ends', async () => {
  const world = await deskWorld();
  for (let i = 0; i < 3; i++) await world.enter({ maxJobs: 3 });
  expect(await world.ask({ maxJobs: 3 })).toEqual({ code: 'too-many', jobs: 3, of: 'live' });
  expect(await world.ask({ maxJobs: 3, tenant: tenant('other') })).toMatchObject({ code: 'admitted' });
  await world.serve(1);
  expect(await world.ask({ maxJobs: 3 })).toMatchObject({ code: 'admitted' });
});

test('a place whose job was never stored is given back by the janitor', async () => {
  const world = await deskWorld();
  await world.ask({ maxJobs: 1 });
  expect(await world.ask({ maxJobs: 1 })).toMatchObject({ code: 'too-many' });
  const later = (await redisNow(world.redis)) + 60_000;
  await requeueLost(world.redis, world.keys, world.queues, world.records, later);
  expect(await world.ask({ maxJobs: 1 })).toMatchObject({ code: 'admitted' });
});

test('fifty at once never get past the limit of ten', async () => {
  const world = await deskWorld();
  const asked = await Promise.all(Array.from({ length: 50 }, () => world.ask({ maxJobs: 10 })));
  expect(asked.filter(({ code }) => code === 'admitted')).toHaveLength(10);
});

test('a job that would wait too long behind its own and more urgent classes is refused with the wait', async () => {
  const world = await deskWorld();
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

test('what waits is counted down when jobs start, end or come back', async () => {
  const world = await deskWorld();
  const load = async (): Promise<number> =>
    Number(await world.redis.hget(world.keys.load(GROUP), 'standard'));
  await world.enter({ cost: 1500 });
  await world.enter({ cost: 500 });
  expect(await load()).toBe(2000);
  const [claim] = await world.claimer.claim(GROUP, 1);
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

test('of fifty requests with one idempotency key one is admitted and the others are told its id', async () => {
  const world = await deskWorld();
  const idempotency = { hash: 'caller-and-key', fingerprint: 'route-and-body' };
  const asked = await Promise.all(Array.from({ length: 50 }, () => world.ask({ idempotency })));
  const admitted = asked.filter(({ code }) => code === 'admitted');
  expect(admitted).toHaveLength(1);
  // The others came before its record was written.
  const told = asked.flatMap((each) => (each.code === 'pending' ? [each.id] : []));
  expect(told).toHaveLength(49);
  expect(new Set(told)).toEqual(new Set(admitted.map((each) => each.code === 'admitted' && each.id)));
  expect(await world.ask({ idempotency: { ...idempotency, fingerprint: 'other' } })).toEqual({
    code: 'mismatch',
  });
});

test('an event that somebody asked for lands in the outbox once, with the move that caused it', async () => {
  const world = await queueWorld(server.url);
  const id = await world.submit({ hook_events: 'job.started job.canceled' });
  const lease = newLeaseToken(world.worker);
  const again = newLeaseToken(world.worker);
  await world.records.apply([
    { move: 'start', id, lease, fields: { worker: 'w' } },
    { move: 'start', id, lease: again, fields: { worker: 'w' } },
    { move: 'cancel', id, lease: again },
  ]);
  expect((await world.redis.zrange(world.keys.outbox, '0', '-1')).sort()).toEqual([
    `${id} job.canceled`,
    `${id} job.started`,
  ]);
});

/** Jobs that may not start yet, for their tenant is paused or enough jobs of their concurrency key run: they leave the line, and come back. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type JobId,
  newJobId,
  type Pause,
  type TenantId,
  tenantTarget,
} from '../../packages/shared/src/index.ts';
import {
  Accepter,
  expireOverdue,
  firstScore,
  type PricedJob,
  Releaser,
  requeueLost,
  SET_PAUSE_LUA,
  type Started,
  WorkflowRunner,
} from '../../packages/shared/src/queue/index.ts';
import { defineScript, redisNow } from '../../packages/shared/src/redis/index.ts';
import { bullQueue, GROUP, newJob, queueWorld } from '../support/queue-world.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const ACME = 'acme' as TenantId;
const OTHER = 'other' as TenantId;
const ONE = { key: 'customer-42', max: 1 };

async function parkingWorld() {
  const world = await queueWorld(server.url);
  const { redis, keys, queues, records, store } = world;
  const accepter = new Accepter(redis, keys, queues, records);
  const releaser = new Releaser({ ...world, workflows: new WorkflowRunner(world) });
  const script = defineScript(
    redis,
    'setPause',
    `${SET_PAUSE_LUA}\nreturn set_pause(ARGV[1], ARGV[2], ARGV[3])`,
  );
  const pause: Pause = {
    object: 'pause',
    model: null,
    tenant: ACME,
    submissions: 'accepted',
    now: false,
    reason: null,
    at: '2026-11-29T00:00:00.000Z',
    by: 'root',
  };
  const accept = async (fields: Partial<PricedJob> = {}): Promise<JobId> => {
    const { deadline_at: _, ...job } = newJob({ tenant: ACME });
    const accepted = await accepter.accept({ ...job, id: newJobId(), ...fields }, {});
    if (!accepted.stored) throw new Error(accepted.code);
    return accepted.stored.record.id;
  };
  const idsOf = (started: readonly Started[]) => started.map(({ claim }) => claim.jobId);
  const end = ({ claim, outcome }: Started) =>
    store
      .end(claim, {
        move: 'succeed',
        id: claim.jobId,
        lease: claim.token,
        fields: { output: { images: [] }, metrics: {} },
      })
      .then(() => outcome);
  return {
    ...world,
    accept,
    idsOf,
    end,
    start: (count: number) => store.start(GROUP, count),
    pause: () => script.run([], [keys.prefix, tenantTarget(ACME), JSON.stringify(pause)]),
    resume: () => script.run([], [keys.prefix, tenantTarget(ACME), '']),
    due: async () => (await redis.zrange(keys.scheduledJobs, '0', '-1')) as JobId[],
    /** As an API process does. */
    releaseDue: async () => releaser.release((await redis.zrange(keys.scheduledJobs, '0', '-1')) as JobId[]),
    load: async () => Number((await redis.hget(keys.load(GROUP), 'standard')) ?? 0),
    parked: async (id: JobId) => redis.hget(keys.record(id), 'parked'),
  };
}

test('At most so many jobs of a key run at once: the next ones step aside for others, and the first of them comes when one ends', async () => {
  const world = await parkingWorld();
  const { accept, start, idsOf } = world;
  const own: JobId[] = [];
  for (let i = 0; i < 4; i++) own.push(await accept({ concurrency: { ...ONE, max: 2 } }));
  const free = await accept();
  const others = await accept({ tenant: OTHER, concurrency: ONE });
  const first = await start(6);
  expect(idsOf(first).sort()).toEqual([own[0], own[1], free, others].sort());
  expect(await world.load()).toBe(0);
  expect(await start(1)).toEqual([]);
  expect(await world.due()).toEqual([]);
  expect(await world.records.read(own[2])).toMatchObject({ state: 'queued', attempt: 0, rev: 1 });

  await world.end(first.find(({ claim }) => claim.jobId === own[0]) as Started);
  expect(await world.due()).toEqual([own[2]]);
  expect(await world.releaseDue()).toEqual([own[2]]);
  expect(await world.load()).toBe(100);
  expect(idsOf(await start(2))).toEqual([own[2]]);
  expect(await world.parked(own[2])).toBeNull();
  expect(await world.parked(own[3])).toBe(`${ACME}:customer-42`);
});

test('A job that was parked is queued once in its events, however it ends', async () => {
  const { accept, start, end, releaseDue, records } = await parkingWorld();
  const [first, second, third] = [
    await accept({ concurrency: ONE }),
    await accept({ concurrency: ONE }),
    await accept({ concurrency: ONE }),
  ];
  const typesOf = async (id: JobId) => (await records.events(id, 0)).map(({ rev, type }) => `${rev} ${type}`);
  const [running] = await start(3);
  expect(running.claim.jobId).toBe(first);
  await end(running);
  expect(await releaseDue()).toEqual([second]);
  expect(await typesOf(second)).toEqual(['1 job.queued']);
  const [next] = await start(1);
  expect(await typesOf(second)).toEqual(['1 job.queued', '2 job.started']);
  await end(next);
  expect(await typesOf(second)).toEqual(['1 job.queued', '2 job.started', '3 job.succeeded']);
  expect(await releaseDue()).toEqual([third]);
  await records.apply([{ move: 'cancel', id: third }]);
  expect(await typesOf(third)).toEqual(['1 job.queued', '2 job.canceled']);
});

test('Where jobs of one key allow different numbers, the number of the first in line counts', async () => {
  const world = await parkingWorld();
  const { accept, start, idsOf } = world;
  const strict = await accept({ concurrency: ONE });
  const loose: JobId[] = [];
  for (let i = 0; i < 3; i++) loose.push(await accept({ concurrency: { ...ONE, max: 3 } }));
  const next = await accept({ concurrency: ONE });
  const running = await start(5);
  expect(idsOf(running)).toEqual([strict, loose[0], loose[1]]);
  await world.end(running[0]);
  expect(await world.releaseDue()).toEqual([loose[2]]);
  const [third] = await start(2);
  expect(third.claim.jobId).toBe(loose[2]);
  await world.end(third);
  await world.end(running[1]);
  expect(await world.due()).toEqual([]);
  await world.end(running[2]);
  expect(await world.due()).toEqual([next]);
});

test('Jobs of a paused tenant are not started, those of others are; resumed, each of them runs once, in order', async () => {
  const world = await parkingWorld();
  const { accept, start, idsOf } = world;
  const own = [await accept(), await accept({ concurrency: ONE }), await accept()];
  const others = await accept({ tenant: OTHER });
  await world.pause();
  expect(idsOf(await start(4))).toEqual([others]);
  // The lists of bull-board.
  expect((await bullQueue(world, GROUP).getJobs()).map(({ id }) => id)).toEqual([others]);
  expect([await world.load(), await world.redis.exists(world.keys.loadOf(ACME))]).toEqual([0, 0]);
  await world.resume();
  expect((await world.due()).sort()).toEqual([...own].sort());
  expect((await world.releaseDue()).sort()).toEqual([...own].sort());
  expect(await world.releaseDue()).toEqual([]);
  expect(idsOf(await start(5))).toEqual(own);
});

test('A job that comes back from a concurrency key takes turns with the jobs of other tenants, however many keys its tenant uses', async () => {
  const world = await parkingWorld();
  const { accept, start, redis, keys, queues } = world;
  const keysOfAcme = Array.from({ length: 6 }, (_, i) => ({ key: `k${i}`, max: 1 }));
  for (const concurrency of [...keysOfAcme, ...keysOfAcme]) await accept({ concurrency });
  const running = await start(12);
  expect(running).toHaveLength(6);
  const others: JobId[] = [];
  for (let i = 0; i < 6; i++) others.push(await accept({ tenant: OTHER }));
  for (const each of running) await world.end(each);
  const back = await world.releaseDue();
  expect(back).toHaveLength(6);
  const line = await redis.zrange(queues.of(GROUP).prioritizedKey, '0', '-1');
  const firstSix = line.slice(0, 6) as JobId[];
  expect(firstSix.filter((id) => others.includes(id)).length).toBeGreaterThanOrEqual(3);
  expect(await redis.zcard(keys.liveOf(ACME))).toBe(6);
});

test.each(['cancel', 'expire'] as const)(
  'A parked job ends by %s at once and leaves nothing behind',
  async (how) => {
    const world = await parkingWorld();
    const { redis, keys, queues, records } = world;
    const first = await world.accept({ concurrency: ONE });
    const second = await world.accept({ concurrency: ONE, deadlineMs: 60_000 });
    const [running] = await world.start(2);
    expect(running.claim.jobId).toBe(first);
    const parked = `${keys.prefix}:parked:${ACME}:${ONE.key}`;
    expect(await redis.zrange(parked, '0', '-1')).toEqual([second]);
    if (how === 'cancel') {
      expect(await records.apply([{ move: 'cancel', id: second }])).toMatchObject([{ code: 'ok' }]);
      await queues.of(GROUP).remove(second);
    } else {
      const overdue = await expireOverdue(redis, keys, queues, records, (await redisNow(redis)) + 120_000);
      expect(overdue.map(({ id }) => id)).toEqual([second]);
    }
    expect(await redis.exists(parked, queues.of(GROUP).jobKey(second))).toBe(0);
    await world.end(running);
    expect(await world.due()).toEqual([]);
    expect(await redis.exists(`${keys.prefix}:concurrent:${ACME}:${ONE.key}`)).toBe(0);
    expect([await world.load(), await world.parked(second)]).toEqual([0, null]);
  },
);

test('The search for lost jobs leaves parked jobs alone, and releases those that nothing else would release', async () => {
  const world = await parkingWorld();
  const { redis, keys, queues, records } = world;
  const [, keyed] = [await world.accept({ concurrency: ONE }), await world.accept({ concurrency: ONE })];
  const [running] = await world.start(2);
  const search = async () => requeueLost(redis, keys, queues, records, (await redisNow(redis)) + 60_000);
  expect(await search()).toEqual([]);
  expect(await world.due()).toEqual([]);
  await world.end(running);
  // As after a repair by hand.
  await redis.del(keys.scheduledJobs);
  expect(await search()).toEqual([]);
  expect(await world.due()).toEqual([keyed]);
  expect(await world.releaseDue()).toEqual([keyed]);
  expect(world.idsOf(await world.start(1))).toEqual([keyed]);
});

test('A job whose worker is lost frees its key, and runs again before the jobs that were parked behind it', async () => {
  const world = await parkingWorld();
  const { redis, keys, queues, records } = world;
  const first = await world.accept({ concurrency: ONE });
  const second = await world.accept({ concurrency: ONE });
  const [running] = await world.start(2);
  await queues.of(GROUP).handBack(running.claim, firstScore('standard'));
  await records.apply([{ move: 'requeue', id: first, lease: running.claim.token }]);
  expect(await world.due()).toEqual([second]);
  expect(await world.releaseDue()).toEqual([second]);
  expect(world.idsOf(await world.start(2))).toEqual([first]);
  expect(await redis.zrange(`${keys.prefix}:parked:${ACME}:${ONE.key}`, '0', '-1')).toEqual([second]);
});

test('A worker that comes to many parked jobs passes a hundred of them in one step, and the next step goes on', async () => {
  const world = await parkingWorld();
  const own: JobId[] = [];
  for (let i = 0; i < 120; i++) own.push(await world.accept());
  await world.pause();
  const others = await world.accept({ tenant: OTHER, cost: 100_000 });
  expect(await world.start(1)).toEqual([]);
  expect(await world.load()).toBe(100_000 + 20 * 100);
  expect(world.idsOf(await world.start(1))).toEqual([others]);
  await world.resume();
  expect(await world.releaseDue()).toHaveLength(120);
  expect(world.idsOf(await world.start(120))).toEqual(own);
});

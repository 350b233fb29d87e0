/** A job that is accepted in one step is the same job as one that is admitted, stored and added by three. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DEFAULT_TENANT, newJobId, type TenantId } from '../../packages/shared/src/index.ts';
import {
  Accepter,
  type AdmissionTerms,
  Admitter,
  admittedJob,
  type PricedJob,
} from '../../packages/shared/src/queue/index.ts';
import { GROUP, newJob, type QueueWorld, queueWorld } from '../support/queue-world.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const ID = newJobId();

const jobOf = (fields: Partial<PricedJob> = {}): PricedJob => {
  const { deadline_at: _, ...job } = newJob({
    id: ID,
    input: { prompt: 'ein roter Kreis, é 圆 "\\', seed: 2 ** 53 - 1, none: [], nothing: {} },
  });
  return {
    ...job,
    metadata: { order: '81' },
    trace: '00-0-0-00',
    hook_events: 'job.queued job.failed',
    ...fields,
  };
};

const TERMS: AdmissionTerms = {
  groups: [{ queue: GROUP, cost: 100, workers: 1, elsewhereMs: 0, elsewhereGroups: 0 }],
  maxGroups: 256,
  groupsWithinMs: 60_000,
  maxJobs: 3,
  maxWaitMs: 600_000,
};

const accepterOf = ({ redis, keys, queues, records }: QueueWorld): Accepter =>
  new Accepter(redis, keys, queues, records);

async function inThreeSteps({ redis, keys, queues, records }: QueueWorld, priced: PricedJob): Promise<void> {
  const admission = await new Admitter(redis, keys).admit(priced, TERMS);
  if (admission.code !== 'admitted') throw new Error(admission.code);
  const job = admittedJob(priced, admission);
  await records.create(job, async () => {
    if (job.run_at === undefined) await queues.of(GROUP).add(job, admission.score);
  });
}

/** Every key of the world with what it holds; each time is replaced by a word, because the two jobs are made one after the other. */
async function contents({ redis, keys }: QueueWorld): Promise<Record<string, unknown>> {
  const read: Record<string, (key: string) => Promise<unknown>> = {
    hash: async (key) => Object.entries(await redis.hgetall(key)).sort(),
    zset: (key) => redis.zrange(key, '0', '-1', 'WITHSCORES'),
    set: async (key) => (await redis.smembers(key)).sort(),
    list: (key) => redis.lrange(key, 0, -1),
    string: (key) => redis.get(key),
    stream: async (key) => (await redis.xrange(key, '-', '+')).map(([, fields]) => fields),
  };
  const found: Record<string, unknown> = {};
  for (const key of (await redis.keys(`${keys.prefix}*`)).sort()) {
    const value = JSON.stringify(await read[await redis.type(key)](key));
    found[key.slice(keys.prefix.length)] = value
      .replaceAll(keys.prefix, '{prefix}')
      .replaceAll(/(?<!\d)1[6-9]\d{11}(?!\d)/g, 'time');
  }
  return found;
}

test.each([
  ['without a deadline', {}],
  ['with a deadline', { deadlineMs: 90_000.5 }],
  ['that runs later', { deadlineMs: 90_000.5, later: { inMs: 7000 } }],
  ['with a time that has passed', { later: { at: 1000 } }],
])('A job %s leaves in Redis what admission, record and queue entry leave one by one', async (_, fields) => {
  const [one, three] = [await queueWorld(server.url), await queueWorld(server.url)];
  const job = jobOf(fields);
  const acceptance = await accepterOf(one).accept(job, TERMS);
  await inThreeSteps(three, job);
  expect(await contents(one)).toEqual(await contents(three));
  const { record } = acceptance.stored ?? {};
  expect(await one.records.read(ID)).toMatchObject(JSON.parse(JSON.stringify(record)));
});

test('An accepted job has its position, and workers claim it', async () => {
  const world = await queueWorld(server.url);
  const accepter = accepterOf(world);
  const positions: (number | undefined)[] = [];
  for (const id of [newJobId(), newJobId()]) {
    positions.push((await accepter.accept(jobOf({ id }), TERMS)).stored?.position);
  }
  expect(positions).toEqual([1, 2]);
  expect(await world.claim(GROUP, 2)).toHaveLength(2);
});

test('A job that is refused is not stored', async () => {
  const world = await queueWorld(server.url);
  const before = await contents(world);
  const refused = await accepterOf(world).accept(jobOf(), { ...TERMS, maxJobs: 0 });
  expect(refused).toEqual({ code: 'too-many', count: 0, of: 'live' });
  expect(await contents(world)).toEqual(before);
});

test('A job is refused whole while Redis has no memory left, also when admission frees some', async () => {
  const world = await queueWorld(server.url);
  const { redis, keys } = world;
  await redis.zadd(keys.unanswered('same'), 1, 'an old job');
  const before = await contents(world);
  await redis.config('SET', 'maxmemory', '1');
  const refused = accepterOf(world).accept(jobOf(), { ...TERMS, duplicate: { hash: 'same' } });
  await expect(refused.finally(() => redis.config('SET', 'maxmemory', '0'))).rejects.toThrow(/OOM/);
  expect(await contents(world)).toEqual(before);
});

test('A command that is sent again answers with its own job, which there is once', async () => {
  const world = await queueWorld(server.url);
  const accepter = accepterOf(world);
  await accepter.accept(jobOf(), TERMS);
  const stored = await contents(world);
  expect(await accepter.accept(jobOf(), TERMS)).toEqual({ code: 'replay', id: ID });
  expect(await contents(world)).toEqual(stored);
});

test.each<[string, (world: QueueWorld, key: string) => Promise<unknown>]>([
  ['has no valid time', ({ redis }, key) => redis.hset(key, 'created_at', 'soon')],
  ['is no hash', ({ redis }, key) => redis.set(key, 'damaged')],
])('A job is accepted whole when the oldest record of its tenant %s', async (_, damage) => {
  const world = await queueWorld(server.url);
  const { redis, keys } = world;
  const oldest = newJobId();
  await damage(world, keys.record(oldest));
  await redis.zadd(keys.jobsOf(DEFAULT_TENANT as TenantId), 0, oldest);
  const id = newJobId();
  const { stored } = await accepterOf(world).accept(jobOf({ id }), TERMS);
  expect(stored?.position).toBe(1);
  expect(await redis.zrange(keys.jobsOf(DEFAULT_TENANT as TenantId), '0', '-1')).toEqual([oldest, id].sort());
});

/** How often scripts ran. */
async function scriptsRun({ redis }: QueueWorld): Promise<number> {
  return Number(/cmdstat_evalsha:calls=(\d+)/.exec(await redis.info('commandstats'))?.[1] ?? 0);
}

test('Jobs that are ready at the same moment are accepted by one command, as many and as they would be one by one', async () => {
  const [together, single] = [await queueWorld(server.url), await queueWorld(server.url)];
  const terms = { ...TERMS, maxJobs: 12 };
  const dear = [{ queue: GROUP, cost: 700, workers: 1, elsewhereMs: 0, elsewhereGroups: 0 }];
  const jobs = Array.from({ length: 20 }, (_, i) => ({
    job: jobOf({ id: newJobId(), cost: i < 9 ? 100 : 700 }),
    terms: i < 9 ? terms : { ...terms, groups: dear },
  }));
  const expired = ['job_0', 'job_1', 'job_2', 'job_3', 'job_4'].flatMap((id) => [0, id]);
  for (const { redis, keys } of [together, single])
    await redis.zadd(keys.jobsOf(DEFAULT_TENANT as TenantId), ...expired);
  const accepter = accepterOf(together);
  await accepter.accept(jobs[0].job, terms);
  const before = await scriptsRun(together);
  const accepted = await Promise.all(jobs.map((each) => accepter.accept(each.job, each.terms)));
  expect((await scriptsRun(together)) - before).toBe(1);
  const one = accepterOf(single);
  const expected = [await one.accept(jobs[0].job, terms)];
  for (const each of jobs.slice(1)) expected.push(await one.accept(each.job, each.terms));

  expect(accepted.map(({ code }) => code)).toEqual([
    'replay',
    ...Array.from({ length: 11 }, () => 'admitted'),
    ...Array.from({ length: 8 }, () => 'too-many'),
  ]);
  expect(accepted.slice(1).map(({ code, stored }) => [code, stored?.position])).toEqual(
    expected.slice(1).map(({ code, stored }) => [code, stored?.position]),
  );
  expect(await contents(together)).toEqual(await contents(single));
});

/** Jobs of every kind, so that what one has and the next one lacks would show. Two of each follow each other. */
function mixedJobs(): { job: PricedJob; terms: AdmissionTerms }[] {
  const workflow = newJobId();
  const other = 'diffusion.tiny@1.128x128';
  const inOther = { ...TERMS, groups: TERMS.groups?.map((each) => ({ ...each, queue: other })) ?? [] };
  const idempotency = { hash: 'one', fingerprint: 'body' };
  const kinds: [Partial<PricedJob>, AdmissionTerms?][] = [
    [{ deadlineMs: 90_000.5, concurrency: { key: 'customer', max: 1 } }],
    [{ hook_events: undefined, trace: undefined, metadata: {} }],
    [{ deadlineMs: 90_000.5, later: { inMs: 7000 } }],
    [{ queue: other }, inOther],
    [{ later: { at: 1000 }, retried_from: ID }],
    [{ parent: workflow, node: 'draw', metadata: {} }],
    [{}, { ...TERMS, idempotency }],
    [{ tenant: 'acme' as TenantId, payer: { key: 'key_1', weight: 3, budget_ms: null } }],
    [{ priority: 'interactive', cost: 700 }],
    [{ queue: other }, { ...inOther, maxGroups: 1 }],
    [{ batch: 'batch_1 0' }],
  ];
  return [...kinds, ...kinds].flatMap(([fields, terms = TERMS]) =>
    [0, 1].map(() => ({ job: jobOf({ ...fields, id: newJobId() }), terms: { ...terms, maxJobs: 100 } })),
  );
}

test('Jobs of different kinds in one command leave nothing of one in another', async () => {
  const [together, single] = [await queueWorld(server.url), await queueWorld(server.url)];
  const [first, ...jobs] = mixedJobs().slice(0, 26);
  const [accepter, one] = [accepterOf(together), accepterOf(single)];
  for (const each of [accepter, one]) await each.accept(first.job, first.terms);
  const before = await scriptsRun(together);
  const accepted = await Promise.all(jobs.map((each) => accepter.accept(each.job, each.terms)));
  expect((await scriptsRun(together)) - before).toBe(1);
  const expected = [];
  for (const each of jobs) expected.push(await one.accept(each.job, each.terms));
  const shown = (all: typeof accepted) => all.map(({ code, stored }) => [code, stored?.position]);
  expect(shown(accepted)).toEqual(shown(expected));
  expect(await contents(together)).toEqual(await contents(single));
});

test('A job that Redis cannot store does not keep the jobs of the same command from being stored', async () => {
  const world = await queueWorld(server.url);
  const accepter = accepterOf(world);
  await world.redis.set(world.keys.jobsOf('spoilt' as TenantId), 'no list of jobs');
  const [bad, good] = await Promise.allSettled([
    accepter.accept(jobOf({ id: newJobId(), tenant: 'spoilt' as TenantId }), TERMS),
    accepter.accept(jobOf(), TERMS),
  ]);
  expect(bad).toMatchObject({ status: 'rejected', reason: { message: expect.stringMatching(/WRONGTYPE/) } });
  expect(good).toMatchObject({ status: 'fulfilled', value: { code: 'admitted' } });
  expect(await world.claim(GROUP, 2)).toHaveLength(1);
});

/** Pages of a tenant's jobs: what they read of Redis, and how their filters find jobs. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DEFAULT_TENANT, type JobId, newJobId } from '../../packages/shared/src/index.ts';
import { JobList, type ListQuery } from '../../packages/shared/src/records/index.ts';
import { type newJob, type QueueWorld, queueWorld } from '../support/queue-world.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const LONG = 'x'.repeat(32_000);
const NO_SUCH_JOB = 'job_01jd3v9s6w0000000000000000' as JobId;

const idOf = async ({ id }: { readonly id: JobId }) => id;
const pageOf = (world: QueueWorld, query: Partial<ListQuery>) =>
  new JobList(world.redis, world.keys).page(DEFAULT_TENANT, { limit: 100, ...query }, idOf);

/** All pages of a list, and how many there were. */
async function allOf(world: QueueWorld, query: Partial<ListQuery>) {
  const ids: JobId[] = [];
  let pages = 0;
  for (let cursor: JobId | undefined; pages === 0 || cursor; pages++) {
    const page = await pageOf(world, { ...query, cursor });
    ids.push(...page.shown);
    cursor = page.next;
  }
  return { ids, pages };
}

/** What Redis sent to all its clients, bytes. */
async function sentDuring(world: QueueWorld, work: () => Promise<unknown>): Promise<number> {
  const sent = async () => Number(/total_net_output_bytes:(\d+)/.exec(await world.redis.info('stats'))?.[1]);
  const before = await sent();
  await work();
  return (await sent()) - before;
}

async function submitAll(world: QueueWorld, count: number, fields: Parameters<typeof newJob>[0] = {}) {
  const ids = await Promise.all(Array.from({ length: count }, () => world.submit(fields)));
  return ids.sort().reverse();
}

const ERROR = { code: 'numeric-error', title: 'Bad numbers', detail: 'NaN', retryable: false };
const endAs = (world: QueueWorld, move: 'cancel' | 'expire' | 'fail', ids: readonly JobId[]) =>
  world.records.apply(ids.map((id) => ({ move, id, ...(move === 'fail' && { fields: { error: ERROR } }) })));

/** As thousands of newer jobs, in one command: a page that examines them finds that each has expired. */
const listOthers = (world: QueueWorld, count: number) =>
  world.redis.zadd(
    world.keys.jobsOf(DEFAULT_TENANT),
    ...Array.from({ length: count }, () => [0, newJobId()]).flat(),
  );

test('A page of one job reads one record, however many and large the others are', async () => {
  const world = await queueWorld(server.url);
  const [newest] = await submitAll(world, 50, { input: { prompt: LONG, negative_prompt: LONG } });
  const bytes = await sentDuring(world, async () => {
    expect((await pageOf(world, { limit: 1 })).shown).toEqual([newest]);
  });
  expect(bytes).toBeLessThan(100_000);
});

test('A page of large jobs ends early, and its next pages have the other jobs', async () => {
  const world = await queueWorld(server.url);
  const ids = await submitAll(world, 50, { input: { prompt: LONG, negative_prompt: LONG } });
  expect(await sentDuring(world, () => pageOf(world, {}))).toBeLessThan(1_400_000);
  const all = await allOf(world, {});
  expect(all.ids).toEqual(ids);
  expect(all.pages).toBe(3);
});

test.each([
  ['failed', 'fail'],
  ['canceled', 'cancel'],
  ['expired', 'expire'],
] as const)(
  'A page of %s jobs finds them behind thousands of other jobs, without a look at those',
  async (status, move) => {
    const world = await queueWorld(server.url);
    const ended = await submitAll(world, 3);
    await endAs(world, move, ended);
    await listOthers(world, 2100);
    expect(await pageOf(world, { status })).toMatchObject({ shown: ended, next: undefined });
    const [deleted] = await world.records.readMany([ended[1]]);
    if (deleted) await world.records.delete(deleted);
    expect(await world.redis.zrange(world.keys.endedOf(DEFAULT_TENANT, status), '0', '-1')).toEqual([
      ended[2],
      ended[0],
    ]);
  },
);

test('A page of unfinished jobs finds them behind others, without nodes and without jobs that are not stored yet', async () => {
  const world = await queueWorld(server.url);
  const waiting = await submitAll(world, 2);
  await world.submit({ parent: waiting[0], node: 'a' });
  await world.redis.zadd(world.keys.liveOf(DEFAULT_TENANT), 0, NO_SUCH_JOB);
  await listOthers(world, 2100);
  expect(await pageOf(world, { status: 'queued' })).toMatchObject({ shown: waiting, next: undefined });
  expect(await pageOf(world, { status: 'running' })).toMatchObject({ shown: [], next: undefined });
  expect(await world.redis.zscore(world.keys.liveOf(DEFAULT_TENANT), NO_SUCH_JOB)).toBe('0');
});

test('Pages of one model and of one type have all their jobs, and each page looks at a bounded number of others', async () => {
  const world = await queueWorld(server.url);
  const first = await submitAll(world, 2);
  const other = await submitAll(world, 2, { model: 'tiny@2' });
  const workflows = await submitAll(world, 2, { type: 'workflow', workflow: { nodes: [] } });
  await listOthers(world, 4100);
  expect(await allOf(world, { model: 'tiny@2' })).toEqual({ ids: other, pages: 3 });
  expect((await allOf(world, { model: 'tin' })).ids).toEqual([]);
  expect((await allOf(world, { model: 'tiny', type: 'text-to-image' })).ids).toEqual([...other, ...first]);
  expect((await allOf(world, { type: 'workflow' })).ids).toEqual(workflows);
  expect((await allOf(world, { type: 'workflow', model: 'other' })).ids).toEqual([]);
  expect(await world.redis.zcard(world.keys.jobsOf(DEFAULT_TENANT))).toBe(6);
});

test('The list of failed jobs forgets those whose records have expired, and expires with the last record', async () => {
  const world = await queueWorld(server.url);
  const failed = world.keys.endedOf(DEFAULT_TENANT, 'failed');
  const [kept, gone] = await submitAll(world, 2);
  await endAs(world, 'fail', [gone]);
  await world.redis.del(world.keys.record(gone));
  await endAs(world, 'fail', [kept]);
  expect(await world.redis.zrange(failed, '0', '-1')).toEqual([kept]);
  expect(await world.redis.pttl(failed)).toBeGreaterThan(50_000);
});

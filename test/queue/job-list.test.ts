/** Pages of a tenant's jobs: what they read of Redis, and how their filters find jobs. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  DEFAULT_TENANT,
  firstJobIdAt,
  type JobId,
  newJobId,
  timeOfId,
} from '../../packages/shared/src/index.ts';
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

test('A page that searches the words of large jobs ends early too, although it shows none of them', async () => {
  const world = await queueWorld(server.url);
  const [found] = await submitAll(world, 1, { input: { prompt: 'a fox' } });
  await submitAll(world, 50, { input: { prompt: LONG, negative_prompt: LONG } });
  const { shown, next, bytes } = await pageOf(world, { text: 'fox' });
  expect({ shown, hasNext: next !== undefined }).toEqual({ shown: [], hasNext: true });
  expect(bytes).toBeGreaterThan(1_000_000);
  expect(bytes).toBeLessThan(1_400_000);
  expect(await allOf(world, { text: 'fox' })).toEqual({ ids: [found], pages: 3 });
  const ids = await new JobList(world.redis, world.keys).ids(DEFAULT_TENANT, { limit: 100, text: 'fox' });
  expect({ shown: ids.shown, hasNext: ids.next !== undefined }).toEqual({ shown: [], hasNext: true });
  expect(ids.bytes).toBeLessThan(1_400_000);
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
  await listOthers(world, 6100);
  // The tenant's next page waits for these bytes (apps/api/src/http/bodies/paced-reads.ts).
  expect((await pageOf(world, { model: 'tin' })).bytes).toBe(2000 * 128);
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

test('Jobs are found by their labels, all of them, in any state, and behind others without a look at those', async () => {
  const world = await queueWorld(server.url);
  const both = await submitAll(world, 2, { metadata: { customer: '42', shop: 'a' } });
  const [one] = await submitAll(world, 1, { metadata: { customer: '42' } });
  await submitAll(world, 1, { metadata: { customer: '4', shop: 'a' } });
  await submitAll(world, 2);
  await endAs(world, 'fail', [both[1]]);
  await listOthers(world, 2100);
  const found = (query: Partial<ListQuery>) => pageOf(world, query);
  expect(await found({ metadata: { customer: '42' } })).toMatchObject({
    shown: [one, ...both].sort().reverse(),
    next: undefined,
  });
  expect((await found({ metadata: { customer: '42', shop: 'a' } })).shown).toEqual(both);
  expect((await found({ metadata: { shop: 'a', customer: '42' }, status: 'failed' })).shown).toEqual([
    both[1],
  ]);
  expect((await found({ metadata: { customer: '42' }, status: 'queued' })).shown).toEqual(
    [one, both[0]].sort().reverse(),
  );
  expect(await found({ metadata: { customer: '7' } })).toMatchObject({ shown: [], next: undefined });
  const [deleted] = await world.records.readMany([both[1]]);
  if (deleted) await world.records.delete(deleted);
  expect((await found({ metadata: { customer: '42', shop: 'a' } })).shown).toEqual([both[0]]);
});

test('A job without labels is in no list of a label, and that list expires with the last record in it', async () => {
  const world = await queueWorld(server.url);
  const labels = async () => (await world.redis.keys(`${world.keys.prefix}:labelled:*`)).length;
  await submitAll(world, 3);
  expect(await labels()).toBe(0);
  const [job] = await submitAll(world, 1, { metadata: { night: '1' } });
  const [key] = await world.redis.keys(`${world.keys.prefix}:labelled:*`);
  expect(await world.redis.pttl(key)).toBe(-1);
  await endAs(world, 'cancel', [job]);
  expect(await world.redis.pttl(key)).toBeGreaterThan(world.records.retentionMs - 60_000);
  await submitAll(world, 1, { metadata: { night: '1' } });
  expect(await world.redis.pttl(key)).toBe(-1);
});

test('Jobs are found by the time when they were made, also with a cursor', async () => {
  const world = await queueWorld(server.url);
  const at = (ms: number) => `${firstJobIdAt(ms)}0000000000000000` as JobId;
  const times = [1e12, 1e12 + 1, 1e12 + 2, 1e12 + 3];
  for (const ms of times) await world.submit({ id: at(ms) });
  const found = async (query: Partial<ListQuery>) =>
    (await pageOf(world, query)).shown.map((id) => timeOfId(id));
  expect(await found({ after: 1e12 + 1, before: 1e12 + 3 })).toEqual([1e12 + 2, 1e12 + 1]);
  expect(await found({ after: 1e12 + 1, before: 1e12 + 3, cursor: at(1e12 + 2) })).toEqual([1e12 + 1]);
  expect(await found({ before: 1e12 })).toEqual([]);
  expect(await found({ after: 1e12 + 3 })).toEqual([1e12 + 3]);
});

test('Jobs are found by their words: a prompt, also of a node, a text or a transcript; and what is damaged is passed over', async () => {
  const world = await queueWorld(server.url);
  const [fox] = await submitAll(world, 1, { input: { prompt: 'A red FOX, "quoted" at Größe 5%' } });
  const nodes = [
    { id: 'a', input: { texts: [] } },
    { id: 'b', input: { prompt: 'the fox again' } },
  ];
  const [flow] = await submitAll(world, 1, { type: 'workflow', workflow: { nodes: [] }, input: { nodes } });
  const [embedded] = await submitAll(world, 1, {
    input: { texts: ['a vixen', { text: 'a cub', pair: 'b' }] },
  });
  const [heard] = await submitAll(world, 1, { input: {} });
  await world.redis.hset(world.keys.record(heard), 'output', '{"transcript":{"text":"the hounds"}}');
  const [damaged] = await submitAll(world, 1, { input: { prompt: 'a fox too' } });
  await world.redis.hset(world.keys.record(damaged), 'input', '{"prompt":');
  const found = async (text: string) => (await pageOf(world, { text })).shown;
  expect(await found('fox')).toEqual([fox, flow].sort().reverse());
  for (const text of ['"quoted"', 'Größe', 'größe 5%'.replace('größe', 'Größe'), 'RED fox,', 'quoted  red']) {
    expect(await found(text), text).toEqual([fox]);
  }
  for (const text of ['vixen', 'cub']) expect(await found(text), text).toEqual([embedded]);
  expect(await found('.*')).toEqual([]);
});

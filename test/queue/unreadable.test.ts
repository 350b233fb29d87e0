/** Records of another version and damaged ones, among others that can be read: the others are served as if they were alone. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  DEFAULT_TENANT,
  type JobId,
  newLeaseToken,
  newWorkerId,
  readFleet,
  reportWorker,
  type WorkerStatus,
} from '../../packages/shared/src/index.ts';
import {
  expireOverdue,
  requeueLost,
  reviewUnreadable,
  WORKFLOW_QUEUE,
  WorkflowRunner,
} from '../../packages/shared/src/queue/index.ts';
import { JobList } from '../../packages/shared/src/records/index.ts';
import { redisNow } from '../../packages/shared/src/redis/index.ts';
import { GROUP, newJob, type QueueWorld, queueWorld } from '../support/queue-world.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

/** As a version would write it whose metadata are not JSON. */
const makeNewer = ({ redis, keys }: QueueWorld, id: JobId) =>
  redis.hset(keys.record(id), 'v', 2, 'metadata', '<metadata/>');
const makeReadable = ({ redis, keys }: QueueWorld, id: JobId) =>
  redis.hset(keys.record(id), 'metadata', '{}');
/** As after a fault of memory or a mistake by hand: the scripts cannot compute with it. */
const damage = ({ redis, keys }: QueueWorld, id: JobId) => redis.hset(keys.record(id), 'cost', 'much');
const listOf = async ({ redis, keys }: QueueWorld) =>
  Object.fromEntries(
    Object.entries(await redis.hgetall(keys.unreadable)).map(([id, facts]) => [id, JSON.parse(facts)]),
  );

const later = async (world: QueueWorld) => (await redisNow(world.redis)) + 60_000;

test('A new record names the version of its schema', async () => {
  const world = await queueWorld(server.url);
  const id = await world.submit();
  expect(await world.redis.hget(world.keys.record(id), 'v')).toBe('1');
});

test('A batch of starts takes effect for every record that can be read, and says which cannot', async () => {
  const world = await queueWorld(server.url);
  const ids = await Promise.all(Array.from({ length: 8 }, () => world.submit()));
  await makeNewer(world, ids[2]);
  await damage(world, ids[5]);
  const outcomes = await world.records.apply(
    ids.map((id) => ({
      move: 'start',
      id,
      lease: newLeaseToken(world.worker),
      fields: { worker: world.worker },
    })),
  );
  expect(outcomes.map(({ code }) => code)).toEqual(ids.map((_, i) => (i === 5 ? 'unreadable' : 'ok')));
  expect(outcomes.map(({ record }) => record?.id)).toEqual(
    ids.map((id, i) => (i === 2 || i === 5 ? undefined : id)),
  );
  expect(outcomes[2].unreadable).toMatchObject({
    id: ids[2],
    version: 2,
    reason: expect.stringContaining('metadata'),
  });
  expect(await world.redis.hget(world.keys.record(ids[5]), 'state')).toBe('queued');
  await expect
    .poll(() => listOf(world))
    .toEqual({
      [ids[2]]: { at: expect.any(String), version: 2, reason: 'metadata: custom' },
      [ids[5]]: { at: expect.any(String), reason: 'cost' },
    });
});

test('Lost jobs are requeued beside a record that cannot be read, which stays live and is requeued when it can be', async () => {
  const world = await queueWorld(server.url);
  const jobs = [newJob(), newJob(), newJob()];
  for (const job of jobs) await world.records.create(job, async () => {});
  const [newer, ...others] = jobs.map(({ id }) => id);
  await makeNewer(world, newer);
  const requeue = async () =>
    (await requeueLost(world.redis, world.keys, world.queues, world.records, await later(world))).sort();
  expect(await requeue()).toEqual(others.sort());
  expect(await requeue()).toEqual([]);
  await makeReadable(world, newer);
  expect(await requeue()).toEqual([newer]);
  expect(await world.claim(GROUP, 5)).toHaveLength(3);
});

test('Lost jobs are requeued beside a record whose key is no hash, which is listed as unreadable', async () => {
  const world = await queueWorld(server.url);
  const [damaged, lost] = [newJob(), newJob()];
  for (const job of [damaged, lost]) await world.records.create(job, async () => {});
  await world.redis.set(world.keys.record(damaged.id), 'no hash');
  const now = await later(world);
  expect(await requeueLost(world.redis, world.keys, world.queues, world.records, now)).toEqual([lost.id]);
  await expect
    .poll(() => listOf(world))
    .toEqual({ [damaged.id]: { at: expect.any(String), reason: 'it is not a hash' } });
});

test('Overdue jobs expire beside records that cannot be read', async () => {
  const world = await queueWorld(server.url);
  const deadline_at = await redisNow(world.redis);
  const ids = [];
  for (let i = 0; i < 4; i++) ids.push(await world.submit({ deadline_at }));
  await makeNewer(world, ids[0]);
  await damage(world, ids[1]);
  const expire = async () =>
    (await expireOverdue(world.redis, world.keys, world.queues, world.records, await later(world))).map(
      ({ id }) => id,
    );
  expect((await expire()).sort()).toEqual([ids[2], ids[3]].sort());
  expect(await expire()).toEqual([]);
});

test('A page of jobs leaves out a record that cannot be read, and keeps its place in the list', async () => {
  const world = await queueWorld(server.url);
  const ids = [];
  for (let i = 0; i < 3; i++) ids.push(await world.submit());
  await makeNewer(world, ids[1]);
  const jobs = new JobList(world.redis, world.keys);
  const list = async () => (await jobs.page(DEFAULT_TENANT, { limit: 10 }, async ({ id }) => id)).shown;
  expect(await list()).toEqual([ids[2], ids[0]].sort().reverse());
  await makeReadable(world, ids[1]);
  expect(await list()).toHaveLength(3);
});

test('A single record of a newer version is answered with a retry, and a damaged one with an internal error', async () => {
  const world = await queueWorld(server.url);
  const [newer, damaged] = [await world.submit(), await world.submit()];
  await makeNewer(world, newer);
  await damage(world, damaged);
  await expect(world.records.read(newer)).rejects.toMatchObject({ code: 'unavailable' });
  await expect(world.records.read(damaged)).rejects.toMatchObject({ code: 'internal' });
});

test('A record that cannot be read and whose version is no schema is damaged: no newer version will read it', async () => {
  const world = await queueWorld(server.url);
  const id = await world.submit();
  await world.redis.hset(world.keys.record(id), 'v', 1.5, 'input', '<input/>');
  await expect(world.records.read(id)).rejects.toMatchObject({ code: 'internal' });
});

test('A workflow whose node cannot be read is left alone, and the other workflows advance', async () => {
  const world = await queueWorld(server.url);
  const workflows = new WorkflowRunner(world);
  const submit = async () => {
    const node = newJob();
    const nodes = [{ ...node, id: 'a', job: node.id, after: [] }];
    const job = newJob({
      type: 'workflow',
      queue: WORKFLOW_QUEUE,
      input: { nodes },
      workflow: { nodes },
    });
    await workflows.create(job);
    return { id: job.id, node: node.id };
  };
  const [faulty, other] = [await submit(), await submit()];
  await makeNewer(world, faulty.node);
  const lease = newLeaseToken(world.worker);
  const error = { code: 'internal', title: 'x', detail: 'x', retryable: true };
  await world.records.apply([
    { move: 'start', id: other.node, lease, fields: { worker: world.worker } },
    { move: 'fail', id: other.node, lease, fields: { error } },
  ]);
  await world.redis.zadd(world.keys.workflows, 0, faulty.id, 0, other.id);
  await workflows.sweep();
  expect((await world.records.read(other.id))?.state).toBe('failed');
  expect((await world.records.read(faulty.id))?.state).toBe('queued');
});

const report = (fields: object = {}): WorkerStatus => ({
  id: newWorkerId('test'),
  started_at: 0,
  tasks: ['diffusion'],
  draining: false,
  models: [{ ref: 'tiny@1', batching: 'step', providers: {} }],
  unavailable: [],
  jobs: 0,
  lanes: [],
  ...fields,
});

test('Of a report with tasks and models of unknown kinds, the known ones are read', async () => {
  const { redis, keys } = await queueWorld(server.url);
  const models = [
    { ref: 'tiny@1', batching: 'step', providers: {} },
    { ref: 'film@1', batching: 'frames' },
  ];
  await reportWorker(redis, keys, report({ v: 2, tasks: ['diffusion', 'video'], models }));
  expect(await readFleet(redis, keys)).toMatchObject([{ tasks: ['diffusion'], models: [{ ref: 'tiny@1' }] }]);
});

test('Reports that cannot be read are left out of the fleet and listed with the reason until they are gone', async () => {
  const world = await queueWorld(server.url);
  const { redis, keys, records } = world;
  const [good, newer, broken] = [report(), report({ v: 2, draining: 'soon' }), report()];
  for (const each of [good, newer, broken]) await reportWorker(redis, keys, each);
  await redis.set(keys.worker(broken.id), 'not JSON');
  expect((await readFleet(redis, keys)).map(({ id }) => id)).toEqual([good.id]);
  await expect
    .poll(() => listOf(world))
    .toMatchObject({
      [newer.id]: { version: 2, reason: 'draining: invalid_type' },
      [broken.id]: { reason: 'is not JSON' },
    });
  await redis.del(keys.worker(newer.id));
  expect(await reviewUnreadable(redis, keys, records)).toEqual([broken.id]);
  expect(Object.keys(await listOf(world))).toEqual([broken.id]);
});

test('The list of what cannot be read loses what became readable or ended, and stops growing at a thousand', async () => {
  const world = await queueWorld(server.url);
  const { redis, keys, records } = world;
  const [fixed, deleted, staying] = [await world.submit(), await world.submit(), await world.submit()];
  for (const id of [fixed, deleted, staying]) await makeNewer(world, id);
  await records.readMany([fixed, deleted, staying]);
  await expect.poll(() => redis.hlen(keys.unreadable)).toBe(3);
  await makeReadable(world, fixed);
  await redis.del(keys.record(deleted));
  expect(await reviewUnreadable(redis, keys, records)).toEqual([staying]);
  for (let i = 0; i < 999; i++) await redis.hset(keys.unreadable, `job ${i}`, '{}');
  await makeNewer(world, fixed);
  await records.readMany([fixed, staying]);
  await redis.ping();
  expect(await redis.hlen(keys.unreadable)).toBe(1000);
});

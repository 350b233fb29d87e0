/** Checkpoints of running jobs on a real Redis and a real object folder. */
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  DEFAULT_TENANT,
  type JobId,
  type LeaseToken,
  newLeaseToken,
} from '../../packages/shared/src/index.ts';
import { openObjectStore } from '../../packages/shared/src/objects/index.ts';
import { CheckpointStore } from '../../packages/shared/src/records/index.ts';
import { type QueueWorld, queueWorld } from '../support/queue-world.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { tempFolder } from '../support/tiny-models.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const SIGNAL = new AbortController().signal;
/** Not valid UTF-8, so that a conversion to text would change it. */
const bytes = (fill: number, length = 100): Uint8Array => new Uint8Array(length).fill(0x80 + fill);
const hex = (value: Uint8Array): string => Buffer.from(value).toString('hex');

async function checkpointWorld(maxRedisBytes = 1000) {
  const world = await queueWorld(server.url);
  const objects = await openObjectStore({
    kind: 'folder',
    root: join(await tempFolder('objects'), 'objects'),
    publicUrl: 'http://127.0.0.1',
    linkSecret: 'x'.repeat(32),
  });
  const store = new CheckpointStore({ redis: world.redis, keys: world.keys, objects, maxRedisBytes });
  const jobOf = (id: JobId) => ({ id, tenant: DEFAULT_TENANT });
  return {
    world,
    objects,
    store,
    jobOf,
    write: (id: JobId, lease: LeaseToken, value: Uint8Array, index = 0) =>
      store.write([{ job: jobOf(id), lease, index, bytes: value }], SIGNAL),
    /** In hex, by the index of the picture. */
    read: async (id: JobId): Promise<Record<number, string>> =>
      Object.fromEntries([...(await store.read(jobOf(id)))].map(([i, value]) => [i, hex(value)])),
    objectKeys: async () => {
      const found: string[] = [];
      for await (const key of objects.list('out/')) found.push(key);
      return found;
    },
  };
}

async function running(world: QueueWorld): Promise<{ id: JobId; lease: LeaseToken }> {
  const id = await world.submit();
  return { id, lease: await start(world, id) };
}

async function start(world: QueueWorld, id: JobId): Promise<LeaseToken> {
  const lease = newLeaseToken(world.worker);
  await world.records.apply([{ move: 'start', id, lease, fields: { worker: world.worker } }]);
  return lease;
}

test('The newest checkpoint of each picture is kept, and the record says that there is one', async () => {
  const { world, write, read } = await checkpointWorld();
  const { id, lease } = await running(world);
  expect((await world.records.read(id))?.checkpoint).toBeUndefined();
  expect(await write(id, lease, bytes(1))).toEqual([true]);
  expect(await write(id, lease, bytes(2))).toEqual([true]);
  expect(await write(id, lease, bytes(3), 1)).toEqual([true]);
  expect(await read(id)).toEqual({ 0: hex(bytes(2)), 1: hex(bytes(3)) });
  expect((await world.records.read(id))?.checkpoint).toBe('1');
  expect(await world.redis.pttl(world.keys.checkpoints(id))).toBeGreaterThan(3_600_000);
});

test('An attempt that has lost its job never replaces the checkpoint of a newer attempt', async () => {
  const { world, write, read } = await checkpointWorld();
  const { id, lease: earlier } = await running(world);
  const later = await start(world, id);
  expect(await write(id, later, bytes(2))).toEqual([true]);
  expect(await write(id, earlier, bytes(1))).toEqual([false]);
  expect(await read(id)).toEqual({ 0: hex(bytes(2)) });
});

test('A job that is handed back keeps its checkpoint, and its former attempt can no longer write one', async () => {
  const { world, write, read } = await checkpointWorld();
  const { id, lease } = await running(world);
  await write(id, lease, bytes(1));
  await world.records.apply([{ move: 'requeue', id, lease, refund: true }]);
  expect(await write(id, lease, bytes(2))).toEqual([false]);
  expect(await read(id)).toEqual({ 0: hex(bytes(1)) });
  expect(await world.records.read(id)).toMatchObject({ state: 'queued', checkpoint: '1' });
});

test.each(['succeed', 'fail', 'cancel', 'expire'] as const)(
  'The move %s deletes the checkpoints of the job',
  async (move) => {
    const { world, write, read } = await checkpointWorld();
    const { id, lease } = await running(world);
    await write(id, lease, bytes(1));
    const fields = {
      succeed: { output: { images: [] }, metrics: {} },
      fail: { error: { code: 'numeric-error', title: 'x', detail: 'y', retryable: false } },
      cancel: {},
      expire: {},
    };
    const [outcome] = await world.records.apply([{ move, id, lease, fields: fields[move] }]);
    expect(outcome.code).toBe('ok');
    expect(await read(id)).toEqual({});
    expect(await world.redis.hexists(world.keys.record(id), 'checkpoint')).toBe(0);
    expect(await write(id, lease, bytes(2))).toEqual([false]);
  },
);

test('A large checkpoint is an object, and the object of an earlier attempt is deleted', async () => {
  const { world, store, jobOf, write, read, objectKeys } = await checkpointWorld(50);
  const { id, lease } = await running(world);
  await write(id, lease, bytes(1));
  await write(id, lease, bytes(2));
  expect(await objectKeys()).toHaveLength(1);
  expect(await read(id)).toEqual({ 0: hex(bytes(2)) });
  const later = await start(world, id);
  await write(id, later, bytes(3));
  expect(await objectKeys()).toEqual([expect.stringContaining(later)]);
  expect(await read(id)).toEqual({ 0: hex(bytes(3)) });
  // A picture of the job that needs less.
  await write(id, later, bytes(4, 10));
  expect(await read(id)).toEqual({ 0: hex(bytes(4, 10)) });
  await write(id, later, bytes(5));
  // By the earlier attempt, which has not noticed yet that it lost the job.
  await store.removeObjects(jobOf(id), lease);
  expect(await write(id, lease, bytes(6))).toEqual([false]);
  expect(await objectKeys()).toEqual([expect.stringContaining(later)]);
  await store.removeObjects(jobOf(id), later);
  expect(await objectKeys()).toEqual([]);
});

test('While Redis is nearly full, checkpoints go to the object store', async () => {
  const { world, write, objectKeys } = await checkpointWorld();
  const { id, lease } = await running(world);
  const used = Number(/^used_memory:(\d+)/m.exec(await world.redis.info('memory'))?.[1]);
  await world.redis.config('SET', 'maxmemory', `${Math.ceil(used / 0.85)}`);
  try {
    expect(await write(id, lease, bytes(1))).toEqual([true]);
  } finally {
    await world.redis.config('SET', 'maxmemory', '0');
  }
  expect(await objectKeys()).toHaveLength(1);
});

test('Of a checkpoint whose object is gone, nothing is read', async () => {
  const { world, objects, write, read, objectKeys } = await checkpointWorld(50);
  const { id, lease } = await running(world);
  await write(id, lease, bytes(1));
  for (const key of await objectKeys()) await objects.delete(key as never);
  expect(await read(id)).toEqual({});
});

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { checkStore } from '../../apps/worker/src/programs/doctor/diagnose.ts';
import { ConfigError, claimStore, LehrError, otherStore } from '../../packages/shared/src/index.ts';
import { NO_LINKS, openObjectStore } from '../../packages/shared/src/objects/index.ts';
import { freshKeys, startRedis, type TestRedis, testRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

async function folderStore() {
  const root = await mkdtemp(join(tmpdir(), 'lehr-identity-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const store = await openObjectStore({ kind: 'folder', root, fsync: false, ...NO_LINKS });
  return { store, place: `the folder ${root} of here`, root };
}

/** An installation in Redis; `of` is a process of it with this store. */
const installation = () => {
  const [redis, keys] = [testRedis(server.url), freshKeys()];
  return { redis, keys, of: <Store>(store: Store) => ({ redis, keys, ...store }) };
};

test('Processes that start at the same time on an empty Redis agree on one store', async () => {
  const { of } = installation();
  const shared = await folderStore();
  await Promise.all(Array.from({ length: 20 }, () => claimStore(of(shared))));
  await claimStore(of(shared));
});

test('The first process starts on a server that makes the bucket at the first write', async () => {
  const { of } = installation();
  const { store, place } = await folderStore();
  let hasBucket = false;
  const withoutBucket: Parameters<typeof claimStore>[0]['store'] = {
    get: (key) => store.get(key),
    put: async (...object) => {
      hasBucket = true;
      return store.put(...object);
    },
    list: (prefix) => {
      if (hasBucket) return store.list(prefix);
      throw new LehrError('storage-failed', 'Could not list lehr-store/: NoSuchBucket (HTTP 404).');
    },
    check: async () => {
      hasBucket = true;
      await store.check();
    },
  };
  await claimStore(of({ store: withoutBucket, place }));
  await claimStore(of({ store, place }));
});

test('Of processes with two stores that start at the same time, those of one store start', async () => {
  const { of } = installation();
  const stores = [await folderStore(), await folderStore()];
  const claims = stores.flatMap((store) => Array.from({ length: 10 }, () => claimStore(of(store))));
  const refused = (await Promise.allSettled(claims)).map(({ status }) => status === 'rejected');
  const [first, second] = [refused.slice(0, 10), refused.slice(10)].map((half) => new Set(half));
  expect([...first, ...second].sort()).toEqual([false, true]);
});

test('Another store is refused with both places, and the first one stays', async () => {
  const { of } = installation();
  const [own, other] = [await folderStore(), await folderStore()];
  await claimStore(of(own));
  const error = await claimStore(of(other)).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ConfigError);
  expect(String(error)).toContain(`${other.place}, is not the one of this installation, ${own.place}`);
  expect(await otherStore(of(other))).toMatchObject({ advice: expect.stringContaining('LEHR_S3_BUCKET') });
  await claimStore(of(own));
});

test('The store of another installation is refused', async () => {
  const [one, two] = [installation(), installation()];
  const [own, other] = [await folderStore(), await folderStore()];
  await claimStore(one.of(own));
  await claimStore(two.of(other));
  await expect(claimStore(one.of(other))).rejects.toThrow('is not the one of this installation');
});

test('An emptied store is refused, and one that was moved with its objects is taken', async () => {
  const { of } = installation();
  const own = await folderStore();
  await claimStore(of(own));
  await claimStore(of({ ...own, place: 'the folder /moved of here' }));
  await rm(join(own.root, 'lehr-store'), { recursive: true });
  await expect(claimStore(of(own))).rejects.toThrow(`${own.place}, was emptied or is not mounted`);
});

test('An emptied Redis and a second namespace take the store as it is', async () => {
  const { of, redis, keys } = installation();
  const own = await folderStore();
  await claimStore(of(own));
  const before = await redis.get(keys.storeId);
  await redis.del(keys.storeId);
  await claimStore(of(own));
  expect(await redis.get(keys.storeId)).toBe(before);
  const second = installation();
  await claimStore(second.of(own));
  expect(await redis.get(second.keys.storeId)).toBe(before);
});

test('A store that is down is neither taken nor called another one', async () => {
  const { of, redis, keys } = installation();
  const own = await folderStore();
  const down = await openObjectStore({
    kind: 's3',
    bucket: 'lehr',
    region: 'us-east-1',
    endpoint: 'http://127.0.0.1:1',
    maxAttempts: 1,
  });
  const process = of({ store: down, place: 'the bucket lehr' });
  await expect(claimStore(process)).rejects.toBeInstanceOf(LehrError);
  expect(await redis.get(keys.storeId)).toBeNull();
  await claimStore(of(own));
  await expect(claimStore(process)).rejects.toMatchObject({ code: 'storage-failed' });
});

test('The doctor registers no store, and fails for another one with what to do', async () => {
  const { of, redis, keys } = installation();
  const [own, other] = [await folderStore(), await folderStore()];
  await redis.ping();
  const doctor = ({ store, place }: typeof own) => checkStore(of({ open: async () => store, place }));
  expect(await doctor(other)).toMatchObject({ state: 'ok' });
  expect(await redis.get(keys.storeId)).toBeNull();
  await claimStore(of(own));
  expect(await doctor(own)).toMatchObject({ state: 'ok', detail: `${own.place} accepts writes` });
  expect(await doctor(other)).toMatchObject({
    state: 'fail',
    detail: expect.stringContaining(own.place),
    advice: expect.stringContaining('LEHR_S3_BUCKET'),
  });
});

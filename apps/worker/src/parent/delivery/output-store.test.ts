import { LehrError, newLeaseToken, newWorkerId, silentLog, systemClock, toObjectKey } from '@lehr/shared';
import type { ObjectInfo, ObjectStore } from '@lehr/shared/objects';
import { expect, test } from 'vitest';
import type { Attempt } from './attempt.ts';
import { OutputStore, StoreDownError } from './output-store.ts';

const KEY = toObjectKey('out/default/job_1/lease/0.png');
const BYTES = Buffer.from('pixels');
const INFO: ObjectInfo = { key: KEY, bytes: 6, contentType: 'image/png', sha256: 'x' };

const attempt = {
  record: { id: 'job_1' },
  lease: newLeaseToken(newWorkerId('test')),
  signal: new AbortController().signal,
} as Attempt;

function outputs(store: Partial<ObjectStore>, times: { retryMs: number; attemptMs: number }): OutputStore {
  const check = (): Promise<void> => Promise.reject(new Error('no store'));
  return new OutputStore({
    store: { check, ...store } as ObjectStore,
    clock: systemClock,
    log: silentLog,
    ...times,
  });
}

/** Never answers, until the signal ends it. */
const silence = (signal: AbortSignal | undefined): Promise<never> =>
  new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));

test('A write that gets no answer is stopped and made again', async () => {
  let calls = 0;
  const store = outputs(
    { put: (_key, _bytes, { signal }) => (calls++ === 0 ? silence(signal) : Promise.resolve(INFO)) },
    { retryMs: 60_000, attemptMs: 50 },
  );
  expect(await store.put(attempt, KEY, BYTES, 'image/png')).toEqual(INFO);
  expect(calls).toBe(2);
  expect(store.breaker.isClosed).toBe(true);
  expect(store.breaker.pendingBytes).toBe(0);
});

test.each([
  ['is stored', (): Promise<ObjectInfo> => Promise.resolve(INFO)],
  ['fails', (): Promise<ObjectInfo> => Promise.reject(new Error('the connection broke'))],
])('An output whose write %s after its job was stopped is removed', async (_, end) => {
  const stopped = new AbortController();
  const removed: string[] = [];
  let finish = (): void => {};
  const put = (): Promise<ObjectInfo> =>
    new Promise((resolve) => {
      finish = () => resolve(end());
    });
  const store = outputs(
    { put, delete: async (key) => void removed.push(key) },
    { retryMs: 60_000, attemptMs: 60_000 },
  );
  const writing = store.put({ ...attempt, signal: stopped.signal } as Attempt, KEY, BYTES, 'image/png');
  stopped.abort();
  expect(removed).toEqual([]);
  finish();
  await writing.catch(() => {});
  expect(removed).toEqual([KEY]);
});

test('No job is claimed while a write is retried or after the store was found down', async () => {
  const store = outputs({ put: () => Promise.reject(new Error('refused')) }, { retryMs: 100, attemptMs: 50 });
  const writing = store.put(attempt, KEY, BYTES, 'image/png');
  expect(store.breaker.isClosed).toBe(true);
  await expect.poll(() => store.breaker.isClosed).toBe(false);
  await expect(writing).rejects.toBeInstanceOf(StoreDownError);
  expect(store.breaker.isOpen).toBe(true);
});

test('While the store is known to be down, a failed write is not retried', async () => {
  let calls = 0;
  const put = (): Promise<never> => Promise.reject(new Error(`refused ${++calls}`));
  const store = outputs({ put }, { retryMs: 100, attemptMs: 50 });
  await expect(store.put(attempt, KEY, BYTES, 'image/png')).rejects.toBeInstanceOf(StoreDownError);
  const before = calls;
  await expect(store.put(attempt, KEY, BYTES, 'image/png')).rejects.toBeInstanceOf(StoreDownError);
  expect(calls).toBe(before + 1);
});

test('A write that fails while the store takes other writes fails its job', async () => {
  const store = outputs(
    { put: () => Promise.reject(new Error('refused')), check: () => Promise.resolve() },
    { retryMs: 100, attemptMs: 50 },
  );
  const failure = store.put(attempt, KEY, BYTES, 'image/png').catch((error: unknown) => error);
  expect(await failure).toMatchObject({ code: 'storage-failed' });
  expect(await failure).not.toBeInstanceOf(StoreDownError);
  expect(store.breaker.isClosed).toBe(true);
});

test('No job is claimed while many bytes wait to be written', async () => {
  const written: (() => void)[] = [];
  const put = (): Promise<ObjectInfo> => new Promise((resolve) => written.push(() => resolve(INFO)));
  const store = outputs({ put }, { retryMs: 1000, attemptMs: 60_000 });
  const large = Buffer.alloc(130 * 1024 * 1024);
  const writes = [1, 2].map(() => store.put(attempt, KEY, large, 'image/png'));
  expect(store.breaker.isClosed).toBe(false);
  for (const end of written) end();
  await Promise.all(writes);
  expect(store.breaker.isClosed).toBe(true);
});

test('A read that fails because the store is down differs from one that fails otherwise', async () => {
  const failed = (): Promise<never> => Promise.reject(new LehrError('storage-failed', 'no answer'));
  const down = outputs({}, { retryMs: 100, attemptMs: 50 });
  await expect(down.orStoreDown(failed())).rejects.toBeInstanceOf(StoreDownError);
  const up = outputs({ check: () => Promise.resolve() }, { retryMs: 100, attemptMs: 50 });
  const failure = up.orStoreDown(failed()).catch((error: unknown) => error);
  expect(await failure).toMatchObject({ code: 'storage-failed' });
  expect(await failure).not.toBeInstanceOf(StoreDownError);
  const refused = down.orStoreDown(Promise.reject(new LehrError('invalid-input', 'gone')));
  await expect(refused).rejects.toMatchObject({ code: 'invalid-input' });
});

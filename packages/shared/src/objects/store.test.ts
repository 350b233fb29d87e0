import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ulid } from 'ulid';
import { expect, onTestFinished, test } from 'vitest';
import { type ObjectKey, toObjectKey } from '../base/ids.ts';
import { openObjectStore } from './index.ts';
import type { ObjectStore } from './store.ts';
import { sweepObjects } from './store.ts';

test('A sweep removes outputs and uploads by the age of their job or file, and nothing else', async () => {
  const root = await mkdtemp(join(tmpdir(), 'lehr-sweep-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const store = await openObjectStore({
    kind: 'folder',
    root,
    publicUrl: 'http://127.0.0.1',
    linkSecret: 'x'.repeat(32),
    fsync: false,
  });
  const id = (at: number): string => ulid(at).toLowerCase();
  const [old, young] = [1_000_000, 2_000_000];
  const kept = [
    `out/acme/job_${id(young)}/lease/0.png`,
    `in/acme/file_${id(young)}`,
    `out/acme/notes/job_${id(old)}.txt`,
  ];
  const gone = [
    `out/acme/job_${id(old)}/lease/0.png`,
    `in/acme/file_${id(old)}`,
    `in/acme/job_${id(old)}/audio`,
  ];
  for (const key of [...kept, ...gone]) {
    await store.put(toObjectKey(key), Buffer.from('x'), { contentType: 'text/plain' });
  }
  expect(await sweepObjects(store, 1_500_000)).toBe(gone.length);
  const left: string[] = [];
  for (const prefix of ['out/', 'in/']) for await (const key of store.list(prefix)) left.push(key);
  expect(left.sort()).toEqual([...kept].sort());
});

test('A sweep removes all other slices when one cannot be removed, and then rejects with that failure', async () => {
  const slices = ['stuck', 'b', 'c'].map((name) => [toObjectKey(`out/acme/job_1/${name}`)]);
  const removed: ObjectKey[] = [];
  const store: Pick<ObjectStore, 'listMadeBefore' | 'deleteMany'> = {
    listMadeBefore: async function* () {
      yield* slices;
    },
    deleteMany: async (keys) => {
      if (keys.some((key) => key.endsWith('stuck'))) throw new Error('EACCES');
      removed.push(...keys);
    },
  };
  await expect(sweepObjects(store as ObjectStore, 2000)).rejects.toThrow('EACCES');
  expect(removed).toEqual(slices.slice(1).flat());
});

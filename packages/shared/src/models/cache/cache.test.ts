import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { evict, listCache, markUsed, removeCached } from './cache.ts';
import { acquireLock } from './lock.ts';
import { MANIFEST, writeManifest } from './manifest.ts';

const HOUR_MS = 3_600_000;
/** Long ago, so that a use at this moment is later than all. */
const NOW = 1_700_000_000_000;
const MB = 1_000_000;

/** Models of one megabyte each, by the hours since their last use. */
async function cacheOf(hours: Readonly<Record<string, number>>): Promise<string> {
  const cache = await mkdtemp(join(tmpdir(), 'lehr-cache-'));
  onTestFinished(() => rm(cache, { recursive: true, force: true }));
  for (const [name, age] of Object.entries(hours)) {
    const folder = join(cache, name);
    await mkdir(folder);
    await writeFile(join(folder, 'model.onnx'), Buffer.alloc(MB));
    const files = [{ path: 'model.onnx', bytes: MB, sha256: 'a'.repeat(64) }];
    const about = { source: `hf://acme/${name}`, revision: 'main', fetched_at: '2026-11-22' };
    await writeManifest(folder, { schema: 1, task: 'whisper', files, ...about });
    const usedAt = new Date(NOW - age * HOUR_MS);
    await utimes(join(folder, MANIFEST), usedAt, usedAt);
  }
  return cache;
}

test('The cache is listed with the model that was used longest ago first', async () => {
  const cache = await cacheOf({ new: 2, old: 50 });
  const listed = await listCache(cache);
  expect(listed.map(({ name }) => name)).toEqual(['old', 'new']);
  expect(listed[0].bytes).toBeGreaterThan(MB);
  expect(await listCache(join(cache, 'nowhere'))).toEqual([]);
});

test('A model that other processes remove while the cache is listed is left out of the list', async () => {
  const names = Array.from({ length: 50 }, (_, i) => `gone${i}`);
  const cache = await cacheOf({ kept: 2, ...Object.fromEntries(names.map((name) => [name, 3])) });
  const removals = names.map((name) => rm(join(cache, name), { recursive: true }));
  const [listed] = await Promise.all([listCache(cache), ...removals]);
  expect(listed.map(({ name }) => name)).toContain('kept');
});

test('What a process is fetching is not removed, and what a dead process left is', async () => {
  const cache = await cacheOf({});
  const draft = join(cache, '.partial', 'draft');
  await mkdir(draft, { recursive: true });
  const [model] = await listCache(cache);
  const lock = await acquireLock(`${draft}.lock`, new AbortController().signal, () => {});
  expect(await removeCached(cache, model)).toBe(false);
  expect(await readdir(join(cache, '.partial'))).toContain('draft');
  const held = await readFile(`${draft}.lock`, 'utf8');
  await lock.release();
  await writeFile(`${draft}.lock`, JSON.stringify({ ...JSON.parse(held), started: 'earlier' }));
  expect(await removeCached(cache, model)).toBe(true);
  expect(await readdir(join(cache, '.partial'))).toEqual([]);
});

test('Models that were not used for longest are removed until the cache fits', async () => {
  const cache = await cacheOf({ a: 2, b: 50, c: 20 });
  const removed = await evict(cache, 1.5 * MB, new Set(), NOW);
  expect(removed.map(({ name }) => name)).toEqual(['b', 'c']);
  expect(await readdir(cache)).toEqual(['a']);
});

test('A model that models.yaml names, and one that was used in the last hour, stay in a cache that is too large', async () => {
  const cache = await cacheOf({ named: 50, recent: 0.5, unused: 3 });
  const removed = await evict(cache, 0, new Set(['named']), NOW);
  expect(removed.map(({ name }) => name)).toEqual(['unused']);
});

test('Noting a use moves a model to the end of the list', async () => {
  const cache = await cacheOf({ a: 50, b: 20 });
  await markUsed(join(cache, 'a'));
  expect((await listCache(cache)).map(({ name }) => name)).toEqual(['b', 'a']);
});

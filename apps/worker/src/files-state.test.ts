import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { filesState, writtenInPlace } from './files-state.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lehr-files-'));
  for (const name of ['config.json', 'model.onnx']) await writeFile(join(folder, name), 'one');
});
afterEach(() => rm(folder, { recursive: true }));

test('A file that is written in place is found, also when its size stays', async () => {
  const before = await filesState(folder);
  expect(await writtenInPlace(folder, before)).toBeUndefined();
  await writeFile(join(folder, 'model.onnx'), 'two');
  expect(await writtenInPlace(folder, before)).toBe(join(folder, 'model.onnx'));
});

test('A file that is replaced by rename, removed or added was not written in place', async () => {
  const before = await filesState(folder);
  await writeFile(join(folder, 'new'), 'two');
  await rename(join(folder, 'new'), join(folder, 'model.onnx'));
  await rm(join(folder, 'config.json'));
  await writeFile(join(folder, 'another'), 'three');
  expect(await writtenInPlace(folder, before)).toBeUndefined();
});

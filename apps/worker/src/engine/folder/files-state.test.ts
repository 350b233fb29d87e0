import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
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

test('Files that no model is opened from do not count, and weights of any name beside a graph do', async () => {
  const others = [
    'README.md',
    'README',
    'train.log',
    '.git/index',
    'notes.txt',
    'runs/data',
    'model_lehr_draft.onnx',
  ];
  const own = ['unet/onnx__MatMul_12', 'unet/model.onnx_data', 'vocab.txt', 'spiece.model'];
  for (const name of ['.git', 'runs', 'unet']) await mkdir(join(folder, name));
  for (const name of ['unet/model.onnx', ...others, ...own]) await writeFile(join(folder, name), 'one');
  const before = await filesState(folder);
  for (const name of others) await writeFile(join(folder, name), 'longer');
  expect(await writtenInPlace(folder, before)).toBeUndefined();
  expect(await filesState(folder)).toEqual(before);
  for (const name of own) {
    const written = await filesState(folder);
    await writeFile(join(folder, name), 'longer');
    expect(await writtenInPlace(folder, written)).toBe(join(folder, name));
  }
});

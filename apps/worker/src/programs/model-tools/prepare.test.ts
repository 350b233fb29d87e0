import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writeTinyWhisper } from '@lehr/demo-models';
import { decode, encode } from '@lehr/onnx-model';
import { expect, test } from 'vitest';
import { tempFolder } from '../../../../../test/support/tiny-models.ts';
import { prepare } from './prepare.ts';
import { readToolSettings } from './tool-settings.ts';

test('A refusal of a model that was copied to be prepared names its own folder, and nothing of the copy stays', async () => {
  const [folder, outside] = [await tempFolder('speech'), await tempFolder('out')];
  await writeTinyWhisper(folder);
  const path = join(folder, 'encoder_model.onnx');
  const model = decode('ModelProto', await readFile(path));
  await writeFile(path, encode('ModelProto', { ...model, opsetImport: [{ domain: '', version: 10 }] }));
  const request = { model: folder, folder, out: join(outside, 'copy'), undo: false, precision: 'int8' };
  await expect(prepare(request, readToolSettings({ LEHR_DEVICE: 'cpu' }))).rejects.toMatchObject({
    code: 'model-unavailable',
    message: `${path} has opset 10; int8 needs 11 or more.`,
  });
  expect(await readdir(outside)).toEqual([]);
});

test('A copy replaces what a killed run of the same copy left behind', async () => {
  const [folder, outside] = [await tempFolder('speech'), await tempFolder('out')];
  await writeTinyWhisper(folder);
  const out = join(outside, 'copy');
  await mkdir(`${out}.lehr-draft`);
  await writeFile(join(`${out}.lehr-draft`, 'left-behind'), '');
  const request = { model: folder, folder, out, undo: false, precision: 'int8' };
  await prepare(request, readToolSettings({ LEHR_DEVICE: 'cpu' }));
  expect(await readdir(outside)).toEqual(['copy']);
  expect(await readdir(out)).not.toContain('left-behind');
});

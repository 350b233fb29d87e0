import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { writeTinyWhisper } from '@lehr/demo-models';
import { expect, test } from 'vitest';
import { blocksOf, readText } from '../repo/readme.ts';
import { unpackTextFixture } from '../support/text-fixtures.ts';
import { tempFolder, tinyModels } from '../support/tiny-models.ts';
import { lehrShell, startLehrCommand } from './lehr-command.ts';

const WHOLE = { timeout: 120_000 };
const PREPARED = '.lehr-prepared';

async function tiny() {
  const models = await tinyModels();
  const env = { LEHR_HOME: await tempFolder('home'), LEHR_MODELS: models, LEHR_DEVICE: 'cpu' };
  const lehr = (...args: string[]) => startLehrCommand(['models', ...args], { env }).ended;
  return { env, folder: join(dirname(models), 'tiny'), lehr };
}

test('lehr models prepare keeps verified graphs beside a model, or in a copy of it, and removes them', {
  tags: ['long'],
}, async () => {
  const { folder, lehr } = await tiny();
  const prepared = await lehr('prepare', 'tiny@1');
  expect(prepared).toMatchObject({ code: 0, stderr: '' });
  expect(prepared.stdout).toMatch(/^unet\/model\.onnx +yes +yes +\S+ +1e-5 +[\d.]+ [kM]B$/m);
  expect(prepared.stdout).toMatch(/^vae_decoder\/model\.onnx +no +yes /m);
  expect((await lehr('check', folder)).stdout).toMatch(/^unet\/model\.onnx \(rewired\) \(prepared\) +cpu /m);

  const removed = await lehr('prepare', folder, '--undo');
  expect(removed.stdout).toBe(`removed from ${folder}\n`);
  expect(await readdir(folder)).not.toContain(PREPARED);
  expect((await lehr('check', folder)).stdout).toMatch(/^unet\/model\.onnx \(rewired\) +cpu /m);

  const out = join(await tempFolder('out'), 'copy');
  expect(await lehr('prepare', folder, '--out', out)).toMatchObject({ code: 0 });
  expect((await lehr('check', out)).stdout).toMatch(/^vae_decoder\/model\.onnx \(prepared\) +cpu /m);
  expect(existsSync(join(folder, PREPARED))).toBe(false);
  expect(await lehr('prepare', folder, '--out', out)).toMatchObject({
    code: 65,
    stderr: expect.stringContaining('is already there'),
  });
  expect(await readdir(dirname(out))).toEqual(['copy']);
  expect(await lehr('prepare', 'other')).toMatchObject({
    code: 65,
    stderr: expect.stringContaining('other is neither a folder nor a model of'),
  });
});

test('lehr models prepare --precision int8 adds a verified variant of a speech model, and --undo removes it', {
  tags: ['long'],
}, async () => {
  const { folder: picture, lehr } = await tiny();
  const folder = await tempFolder('speech');
  await writeTinyWhisper(folder);
  const before = (await readdir(folder)).sort();
  const made = await lehr('prepare', folder, '--precision', 'int8');
  expect(made).toMatchObject({ code: 0, stderr: '' });
  expect(made.stdout).toMatch(/^encoder_model\.onnx +encoder_model_quantized\.onnx +\d+ +[\d.]+ [kM]B$/m);
  expect(made.stdout).toMatch(/^tokens +\d+ of 16 are the same$/m);
  const checked = await lehr('check', folder, '--variant', 'quantized');
  expect(checked).toMatchObject({ code: 0 });
  expect((await lehr('prepare', folder, '--undo')).stdout).toBe(`removed from ${folder}\n`);
  expect((await readdir(folder)).sort()).toEqual(before);

  expect(await lehr('prepare', picture, '--precision', 'int8')).toMatchObject({
    code: 65,
    stderr: expect.stringContaining('--precision int8 is for models of the tasks whisper and text'),
  });
  expect(await lehr('prepare', folder, '--precision', 'fp8')).toMatchObject({
    stderr: expect.stringContaining('allowed are int8 and fp16'),
  });
});

test('lehr models prepare --precision fp16 writes a verified copy of a model for pictures, and leaves the original', {
  tags: ['long'],
}, async () => {
  const { folder, lehr } = await tiny();
  const before = (await readdir(folder, { recursive: true })).sort();
  const out = join(await tempFolder('out'), 'half');
  const made = await lehr('prepare', folder, '--precision', 'fp16', '--out', out);
  expect(made).toMatchObject({ code: 0, stderr: '' });
  expect(made.stdout).toMatch(/^unet\/model\.onnx +float16 +\S+ +2e-2 +[\d.]+ [kM]B +[\d.]+ [kM]B$/m);
  expect(made.stdout).toContain('The VAE stays float32.\n');
  expect((await readdir(folder, { recursive: true })).sort()).toEqual(before);
  expect(await readdir(dirname(out))).toEqual(['half']);
  expect(await lehr('check', out)).toMatchObject({ code: 0 });
  expect(await lehr('prepare', out, '--undo')).toMatchObject({
    code: 65,
    stderr: expect.stringContaining('delete this folder'),
  });

  expect(await lehr('prepare', folder, '--precision', 'fp16')).toMatchObject({
    code: 65,
    stderr: expect.stringContaining('--out NEW_FOLDER'),
  });
  const speech = await tempFolder('speech');
  await writeTinyWhisper(speech);
  expect(await lehr('prepare', speech, '--precision', 'fp16', '--out', `${out}-2`)).toMatchObject({
    code: 65,
    stderr: expect.stringContaining('--precision fp16 is for models of the tasks diffusion and text'),
  });
});

test('lehr models prepare --precision writes verified variants of a text model, states their error, and --undo removes them', {
  tags: ['long'],
}, async () => {
  const { lehr } = await tiny();
  const folder = await tempFolder('texts');
  unpackTextFixture('bert-sentences', folder, 'onnx');
  const before = (await readdir(folder, { recursive: true })).sort();
  for (const [precision, variant] of [
    ['int8', 'quantized'],
    ['fp16', 'fp16'],
  ]) {
    const made = await lehr('prepare', folder, '--precision', precision);
    expect(made).toMatchObject({ code: 0, stderr: '' });
    expect(made.stdout).toMatch(
      new RegExp(`^onnx/model\\.onnx +onnx/model_${variant}\\.onnx +\\d+ +[\\d.]+ [kM]B$`, 'm'),
    );
    expect(made.stdout).toMatch(
      /^vectors +the smallest cosine with the original is 0\.9\d+; allowed 0\.9\d+$/m,
    );
    expect(await lehr('check', folder, '--variant', variant)).toMatchObject({ code: 0 });
    expect((await lehr('prepare', folder, '--undo')).stdout).toBe(`removed from ${folder}\n`);
    expect((await readdir(folder, { recursive: true })).sort()).toEqual(before);
  }
});

test('The commands of docs/tuning.md for a prepared model work', WHOLE, async () => {
  const { env, folder } = await tiny();
  const [block, ...more] = blocksOf(readText('docs/tuning.md')).filter(({ label }) => label === 'prepare');
  expect(more).toEqual([]);
  const { run } = await lehrShell({ ...env, MODEL: 'tiny@1' });
  expect(await run(block.text)).toContain(`removed from ${folder}\n`);
});

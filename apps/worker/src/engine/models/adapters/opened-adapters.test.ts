/** What is known of the files of adapters after they were opened: why one cannot be used, and which one it was. */
import { copyFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { unpackFixture } from '../../../../../../test/support/diffusion-fixtures.ts';
import { randomLora, writeLora } from '../../../../../../test/support/lora-files.ts';
import { tempFolder } from '../../../../../../test/support/tiny-models.ts';
import { ModelAdapters } from './model-adapters.ts';

async function unpack() {
  const folder = await tempFolder('adapters');
  unpackFixture('sd15', folder);
  const path = join(folder, 'unet/model.onnx');
  const file = (name: string) => join(folder, `${name}.safetensors`);
  return { folder, path, file };
}

test('What callers read of an adapter that cannot be read names no folder of the machine', async () => {
  const { folder, path, file } = await unpack();
  symlinkSync('loop.safetensors', file('loop'));
  writeLora(file('ink'), randomLora(path, 'unet', { only: /attn1\.to_q/ }));
  const adapters = new ModelAdapters(
    ['loop', 'ink'].map((name) => ({ name, path: file(name) })),
    2,
  );
  const opened = await adapters.open('unet', async (adapt) => {
    if (adapt({ path }).columns.length > 0) throw new Error(`Load model from ${path} failed`);
    return 'plain';
  });
  adapters.close();
  expect(opened).toBe('plain');
  expect(adapters.opened).toEqual([
    { name: 'loop', problem: 'loop.safetensors cannot be read (ELOOP).' },
    { name: 'ink', problem: 'The unet does not run with adapters: Load model from model.onnx failed' },
  ]);
  expect(JSON.stringify(adapters.opened)).not.toContain(folder);
});

test('The digest of an adapter is of what was opened, when another file has its path by then, and knows its strength', async () => {
  const { folder, path, file } = await unpack();
  const layers = (seed: number) => randomLora(path, 'unet', { only: /attn1\.to_q/, seed });
  const digestOf = async (before = () => {}) => {
    const adapters = new ModelAdapters([{ name: 'ink', path: file('ink') }], 2);
    before();
    await adapters.readDigests();
    adapters.close();
    return adapters.digestOf('ink');
  };
  writeLora(file('ink'), layers(1), 'peft');
  writeLora(file('other'), layers(2), 'peft');
  copyFileSync(file('ink'), file('copy'));
  const first = await digestOf();
  expect(await digestOf(() => renameSync(file('other'), file('ink')))).toBe(first);
  expect(await digestOf()).not.toBe(first);
  renameSync(file('copy'), file('ink'));
  expect(await digestOf()).toBe(first);
  writeFileSync(join(folder, 'adapter_config.json'), JSON.stringify({ lora_alpha: 1 }));
  expect(await digestOf()).not.toBe(first);
});

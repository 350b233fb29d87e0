/** What `lehr models list` and `lehr models check` say of adapters and ControlNets. */
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { decode, encode } from '../../packages/onnx-model/src/index.ts';
import { unpackFixture } from '../support/diffusion-fixtures.ts';
import { tempFolder } from '../support/tiny-models.ts';
import { startLehrCommand } from './lehr-command.ts';

const MODELS = `models:
  - name: sd15
    task: diffusion
    versions: [{ version: "1", path: ./sd15 }]
    adapters:
      - { name: ink, path: ./sd15/adapters/kohya.safetensors }
      - { name: other, path: ./other.safetensors }
      - { name: wide, path: ./wide.safetensors }
      - { name: lost, path: ./lost.safetensors }
    controls:
      - { name: edges, path: ./sd15/controls/edges }
      - { name: half, path: ./half }
      - { name: liar, path: ./liar }
      - { name: short, path: ./short }
`;

interface Part {
  readonly name: string;
  readonly state: string;
  readonly rank?: number;
  readonly bytes: number;
  readonly problem?: string;
}

test('list says of every adapter and ControlNet whether it is there and how large it is, and check whether its model can use it', {
  timeout: 240_000,
  tags: ['long'],
}, async () => {
  const home = await tempFolder('home');
  const at = (name: string) => join(home, name);
  for (const fixture of ['sd15', 'sd15-adapters', 'sd15-control']) unpackFixture(fixture, at('sd15'));
  const xl = await tempFolder('xl');
  unpackFixture('sdxl-adapters', xl);
  await cp(join(xl, 'adapters/kohya.safetensors'), at('wide.safetensors'));
  await writeFile(at('other.safetensors'), 'no weights at all');
  await mkdir(at('half'));
  await writeFile(at('half/config.json'), '{}');
  // Its graph is that of a ControlNet, and its config names another kind.
  await cp(at('sd15/controls/edges'), at('liar'), { recursive: true });
  await writeFile(at('liar/config.json'), '{"_class_name":"T2IAdapter"}');
  await cp(at('sd15/controls/edges'), at('short'), { recursive: true });
  const model = decode('ModelProto', await readFile(at('short/model.onnx')));
  model.graph?.output?.pop();
  await writeFile(at('short/model.onnx'), encode('ModelProto', model));
  await writeFile(at('models.yaml'), MODELS);
  const env = { LEHR_HOME: home, LEHR_DEVICE: 'cpu' };
  const lehr = (...args: string[]) => startLehrCommand(['models', ...args], { env }).ended;
  const parts = async (...args: string[]): Promise<readonly Part[]> =>
    JSON.parse((await lehr(...args, '--json')).stdout).parts;

  const listed = await lehr('list');
  expect(listed).toMatchObject({ code: 0, stderr: '' });
  expect(listed.stdout).toMatch(/^ink +sd15 +adapter +ready +[\d.]+ kB +\d+ +\/\S+\/kohya\.safetensors$/m);
  expect(listed.stdout).toMatch(/^other +sd15 +adapter +unusable +17 B +other\.safetensors ends before/m);
  expect(listed.stdout).toMatch(/^lost +sd15 +adapter +missing +\/\S+\/lost\.safetensors$/m);
  expect(listed.stdout).toMatch(/^edges +sd15 +ControlNet +ready +[\d.]+ [kM]B +\/\S+\/edges$/m);
  expect(listed.stdout).toMatch(/^half +sd15 +ControlNet +unusable +2 B +It has no model\.onnx\.$/m);

  const checked = await lehr('check', at('sd15'));
  expect(checked).toMatchObject({ code: 0, stderr: '' });
  expect(checked.stdout).toMatch(/^ink +sd15 +adapter +ready /m);
  const found = await parts('check', at('sd15'));
  expect(found.map(({ name, state, problem }) => [name, state, problem])).toEqual([
    ['ink', 'ready', undefined],
    ['other', 'unusable', 'other.safetensors ends before its header does.'],
    ['wide', 'unusable', expect.stringContaining('wide.safetensors is of another architecture')],
    ['lost', 'missing', undefined],
    ['edges', 'ready', undefined],
    ['half', 'unusable', 'The folder has no model.onnx.'],
    ['liar', 'unusable', 'The folder holds a T2IAdapter, wanted a ControlNetModel.'],
    [
      'short',
      'unusable',
      'The ControlNet adds to 12 values of a UNet, the unet has 13. It is of another family of models.',
    ],
  ]);
  // Without its entry, the folder of a model is checked alone.
  await rm(at('models.yaml'));
  expect(await parts('check', at('sd15'))).toEqual([]);
});

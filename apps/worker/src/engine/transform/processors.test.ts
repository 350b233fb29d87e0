/** Pictures as the image processors of transformers prepare them, and results of its models (lab/real/transform/make_fixtures.py). */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { unpackFixture } from '../../../../../test/support/text-fixtures.ts';
import type { TransformInput, TransformResult } from '../protocol/messages.ts';
import { onnxRuntime } from '../runtime/onnx.ts';
import { readTransformConfig } from './folder/transform-config.ts';
import { openTransformModel, type TransformOptions } from './folder/transform-folder.ts';
import { prepared, preparedSize, toValues } from './preparation.ts';
import { workOf } from './work.ts';

const FIXTURES = new URL('../../../../../lab/real/transform/fixtures/', import.meta.url).pathname;

interface Size {
  readonly width: number;
  readonly height: number;
}

interface ProcessorCase extends Size {
  readonly name: string;
  readonly config: object;
  readonly shape: readonly number[];
  readonly values: readonly number[];
}

const PROCESSED: readonly ProcessorCase[] = JSON.parse(
  readFileSync(join(FIXTURES, 'processors.json'), 'utf8'),
);

function pictureOf({ width, height }: Size): Uint8Array {
  const pixels = new Uint8Array(width * height * 3);
  for (let i = 0; i < pixels.length; i += 1) {
    const [x, y, c] = [Math.floor(i / 3) % width, Math.floor(i / 3 / width), i % 3];
    pixels[i] = (x * 5 * (c + 1) + y * 9 + Math.floor((x * y * (c + 1)) / 8)) % 256;
  }
  return pixels;
}

function folderOf(): string {
  const folder = mkdtempSync(join(tmpdir(), 'lehr-processors-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

test.each(PROCESSED)(
  'A picture of $width x $height is prepared as by transformers: $name',
  async ({ name: _, config, shape, values, ...size }) => {
    const folder = folderOf();
    writeFileSync(join(folder, 'preprocessor_config.json'), JSON.stringify(config));
    const { preparation } = await readTransformConfig(folder, {});
    const { width, height } = preparedSize(preparation, size);
    // Swin2SR adds eight pixels to a side that is a multiple of eight already.
    const [rows, columns] =
      'size_divisor' in config || 'pad_size' in config ? [height, width] : shape.slice(1);
    expect([3, height, width]).toEqual([3, rows, columns]);
    const made = toValues(prepared(pictureOf(size), size, preparation), preparation, 'channels-first');
    const off = values.map((value, i) => {
      const [c, at] = [Math.floor(i / (shape[1] * shape[2])), i % (shape[1] * shape[2])];
      const [y, x] = [Math.floor(at / shape[2]), at % shape[2]];
      return y < height && x < width ? Math.abs(value - made[(c * height + y) * width + x]) : 0;
    });
    // The fixture has six decimals.
    expect(Math.max(...off)).toBeLessThanOrEqual(2e-6);
  },
);

test('What models.yaml states of the input wins, field by field', async () => {
  const folder = folderOf();
  const config = { size: 16, image_mean: [0.5, 0.5, 0.5], image_std: [0.25, 0.25, 0.25], resample: 3 };
  writeFileSync(join(folder, 'preprocessor_config.json'), JSON.stringify(config));
  const read = async (input: TransformInput) => (await readTransformConfig(folder, input)).preparation;
  expect(await read({})).toMatchObject({
    size: { kind: 'exact', width: 16, height: 16 },
    filter: 'bicubic',
    mean: [0.5, 0.5, 0.5],
    channels: 'rgb',
  });
  expect(await read({ width: 8, mean: [0], channels: 'bgr' })).toMatchObject({
    size: { kind: 'exact', width: 8, height: 8 },
    mean: [0],
    std: [0.25, 0.25, 0.25],
    channels: 'bgr',
  });
});

async function resultOf(
  name: string,
  size: Size,
  options: Partial<TransformOptions> = {},
): Promise<TransformResult> {
  const folder = folderOf();
  unpackFixture(join(FIXTURES, name), folder, 'onnx');
  const model = await openTransformModel(folder, onnxRuntime, { providers: ['cpu'], threads: 1, ...options });
  onTestFinished(() => model.close());
  const work = workOf(model, { ...size, pixels: pictureOf(size) }, 3);
  expect(work.rows).toBe(1);
  const [output] = await model.graph.run([work.row(0)], work.size);
  work.add(output);
  return work.result();
}

const expectedOf = <Case>(name: string): Case[] =>
  JSON.parse(readFileSync(join(FIXTURES, name, 'expected.json'), 'utf8'));

test.each(
  expectedOf<Size & { readonly labels: readonly { readonly label: string; readonly score: number }[] }>(
    'vit-classes',
  ),
)('A ViT gives a picture of $width x $height the labels of transformers', async ({ labels, ...size }) => {
  const result = await resultOf('vit-classes', size);
  if (result.kind !== 'class') throw new Error('Wanted labels.');
  expect(result.labels.map(({ label }) => label)).toEqual(labels.map(({ label }) => label));
  for (const [i, { score }] of labels.entries()) expect(result.labels[i].score).toBeCloseTo(score, 2);
});

test.each(expectedOf<Size & { readonly values: readonly number[] }>('dpt-depth'))(
  'DPT gives a picture of $width x $height the depth of transformers',
  async ({ values, ...size }) => {
    const result = await resultOf('dpt-depth', size);
    if (result.kind !== 'mask') throw new Error('Wanted a mask.');
    expect(largest(result.values, values)).toBeLessThanOrEqual(2);
  },
);

test.each(
  expectedOf<Size & { readonly padded: readonly [number, number]; readonly values: readonly number[] }>(
    'swin2sr-x2',
  ),
)('Swin2SR enlarges a picture of $width x $height as transformers', async ({ values, padded, ...size }) => {
  const [width, height] = padded;
  const result = await resultOf('swin2sr-x2', size, {
    result: 'picture',
    scale: 2,
    input: { width, height },
  });
  expect(result).toMatchObject({ kind: 'picture', width: 2 * size.width, height: 2 * size.height });
  if (result.kind === 'picture') expect(largest(result.pixels, values)).toBeLessThanOrEqual(1);
});

const largest = (a: Uint8Array, b: readonly number[]): number => {
  expect(a).toHaveLength(b.length);
  return a.reduce((most, value, i) => Math.max(most, Math.abs(value - b[i])), 0);
};

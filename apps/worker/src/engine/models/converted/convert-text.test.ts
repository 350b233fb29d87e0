import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DATA_TYPE, decode, encode } from '@lehr/onnx-model';
import { expect, test } from 'vitest';
import { changeOutput } from '../../../../../../test/support/changed-output.ts';
import { unpackTextFixture } from '../../../../../../test/support/text-fixtures.ts';
import { tempFolder } from '../../../../../../test/support/tiny-models.ts';
import { onnxRuntime } from '../../runtime/onnx.ts';
import { openTextModel } from '../../text/folder/text-folder.ts';
import { openFolder } from '../open-folder.ts';
import { prepareFolder } from '../prepared/prepare-folder.ts';
import { compareText } from './compare-text.ts';
import { convertText, TEXT_TOLERANCE } from './convert-text.ts';
import { undoConversion, VARIANTS } from './convert-variant.ts';
import { CONVERTED_MANIFEST, isHalfCopy } from './manifest.ts';

const CPU = { providers: ['cpu'], threads: 1 } as const;

async function unpacked(name: string, graphs: '' | 'onnx' = ''): Promise<string> {
  const folder = await tempFolder('texts');
  unpackTextFixture(name, folder, graphs);
  return folder;
}

const filesOf = async (folder: string): Promise<string[]> =>
  (await readdir(folder, { recursive: true })).sort();
const convert = (folder: string, precision: 'int8' | 'fp16') =>
  convertText(folder, onnxRuntime, CPU, precision);

const cases = [
  ['bert-sentences', 'text-embedding', 'vectors'],
  ['bert-entities', 'token-classification', 'scores'],
  ['bert-fill-mask', 'fill-mask', 'scores'],
] as const;

test.each(cases)(
  'A text model is written in int8 and in half precision within the stated error: %s',
  async (name, type, kind) => {
    const folder = await unpacked(name, 'onnx');
    const before = await filesOf(folder);
    for (const precision of ['int8', 'fp16'] as const) {
      const { graphs, compared, difference } = await convert(folder, precision);
      const result = `onnx/model${VARIANTS[precision]}.onnx`;
      expect(graphs).toMatchObject([{ graph: 'onnx/model.onnx', result }]);
      const tolerance = TEXT_TOLERANCE[precision][kind];
      expect(compared).toEqual([{ type, difference, tolerance }]);
      expect(difference).toBeGreaterThan(0);
      expect(difference).toBeLessThanOrEqual(tolerance);
      // The one before it is gone.
      expect(await filesOf(folder)).toEqual([...before, CONVERTED_MANIFEST, result].sort());
      expect(await isHalfCopy(folder)).toBe(false);
      expect(await compareText(folder, onnxRuntime, CPU, VARIANTS[precision])).toEqual([
        { type, difference },
      ]);
    }
    expect(await undoConversion(folder)).toBe(true);
    expect(await filesOf(folder)).toEqual(before);
  },
);

test('A text model in half precision has its attentions fused, and is prepared as one in half precision', async () => {
  const folder = await unpacked('bert-sentences');
  await convert(folder, 'fp16');
  const options = { ...CPU, variant: '_fp16' } as const;
  const opened = await openTextModel(folder, onnxRuntime, options);
  await opened.close();
  expect(opened.graphs).toMatchObject([{ fusion: { attentions: 2, left: {} } }]);
  const { graphs } = await prepareFolder('text', folder, onnxRuntime, options);
  expect(graphs).toMatchObject([{ graph: 'model_fp16.onnx', tolerance: 0.02, optimized: [{}, {}] }]);
});

test('An int8 text model has its attentions fused, and can be prepared as the variant that it is', async () => {
  const folder = await unpacked('bert-sentences');
  await convert(folder, 'int8');
  const opened = await openTextModel(folder, onnxRuntime, { ...CPU, variant: '_quantized' });
  await opened.close();
  expect(opened.graphs).toMatchObject([{ fusion: { attentions: 2, left: {} } }]);
  const { graphs } = await prepareFolder('text', folder, onnxRuntime, { ...CPU, variant: '_quantized' });
  expect(graphs).toMatchObject([{ graph: 'model_quantized.onnx', optimized: [{}, {}] }]);
  const options = { ...CPU, variant: '_quantized' };
  const prepared = await openFolder('text', folder, onnxRuntime, options);
  await prepared.close();
  expect(prepared.graphs).toMatchObject([{ prepared: true }]);
});

test('Two products of int8 weights and uint8 values fit into 16 bits, in which processors without VNNI add them', async () => {
  const folder = await unpacked('bert-sentences');
  await convert(folder, 'int8');
  const { graph } = decode('ModelProto', await readFile(join(folder, 'model_quantized.onnx')));
  const weights = (graph?.initializer ?? []).filter(({ dataType }) => dataType === DATA_TYPE.int8);
  expect(weights).toHaveLength(12);
  for (const { rawData } of weights) {
    const largest = Int8Array.from(rawData ?? []).reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    expect(2 * 255 * largest).toBeLessThan(2 ** 15);
    // The largest weight of each column has all of the bits.
    expect(largest).toBe(64);
  }
});

test('A text model that differs too much in int8 is refused with the difference, and nothing is kept', async () => {
  const folder = await unpacked('roberta-fill-mask');
  const before = await filesOf(folder);
  await expect(convert(folder, 'int8')).rejects.toThrow(
    /in int8 differs too much for fill-mask: a score by 0\.\d+, at most 0\.1 is allowed\. Nothing was kept\.$/,
  );
  expect(await filesOf(folder)).toEqual(before);
});

async function regression(change: 'Mul' | 'Pow', by: number): Promise<string> {
  const folder = await unpacked('bert-classes');
  for (const each of ['model_fp16.onnx', 'model_quantized.onnx']) await rm(join(folder, each));
  const config = join(folder, 'config.json');
  const settings = JSON.parse(await readFile(config, 'utf8')) as object;
  await writeFile(config, JSON.stringify({ ...settings, problem_type: 'regression' }));
  await changeOutput(join(folder, 'model.onnx'), change, by);
  return folder;
}

test.each([1000, 1e-3])(
  'Outputs that are no probabilities are compared as shares of their range, whatever their unit: times %f',
  async (unit) => {
    const folder = await regression('Mul', unit);
    const type = 'text-classification';
    const { compared } = await convert(folder, 'int8');
    const difference = expect.closeTo(0.075, 2);
    expect(compared).toEqual([{ type, difference, of_range: true, tolerance: 0.1 }]);
    await expect(convert(folder, 'fp16')).resolves.toMatchObject({ compared: [{ tolerance: 0.01 }] });
  },
);

test('Outputs that int8 changes by more than a tenth of their range are refused with that share', async () => {
  const folder = await regression('Pow', 9);
  await expect(convert(folder, 'int8')).rejects.toThrow(
    /differs too much for text-classification: a score by 0\.\d+ of its range, at most 0\.1 is allowed/,
  );
});

test('A conversion that is refused leaves the variant that an earlier one made', async () => {
  const folder = await unpacked('roberta-fill-mask');
  await convert(folder, 'fp16');
  const before = await filesOf(folder);
  await expect(convert(folder, 'int8')).rejects.toMatchObject({ code: 'model-unavailable' });
  expect(await filesOf(folder)).toEqual(before);
  expect(await undoConversion(folder)).toBe(true);
});

test('A value that half precision cannot hold is refused by name, also where the CPU computes it in float32', async () => {
  const folder = await unpacked('bert-sentences');
  const path = join(folder, 'model.onnx');
  const model = decode('ModelProto', await readFile(path));
  // Each is in range, and so are the products, but not their sum.
  for (const [wanted, value] of [
    ['encoder.layer.0.intermediate.dense.bias', 6e4],
    ['onnx::MatMul_311', 1],
  ] as const) {
    const weight = model.graph?.initializer?.find(({ name }) => name === wanted);
    if (!weight?.rawData) throw new Error(`Wanted the weight ${wanted}.`);
    weight.rawData = new Uint8Array(new Float32Array(weight.rawData.length / 4).fill(value).buffer);
  }
  await writeFile(path, encode('ModelProto', model));
  const before = await filesOf(folder);
  await expect(convert(folder, 'fp16')).rejects.toThrow(
    /^model\.onnx stays float32: its value \S+ is not finite in half precision\. Nothing was kept\.$/,
  );
  expect(await filesOf(folder)).toEqual(before);
});

test('A variant that Lehr did not make is never replaced, and what a killed conversion has left goes', async () => {
  // It comes with graphs in int8 and half precision.
  const folder = await unpacked('bert-classes', 'onnx');
  await expect(convert(folder, 'int8')).rejects.toThrow('model_quantized.onnx is already there');
  await expect(convert(folder, 'fp16')).rejects.toThrow('model_fp16.onnx is already there');
  const other = await unpacked('bert-sentences', 'onnx');
  const before = await filesOf(other);
  await mkdir(join(other, 'onnx'), { recursive: true });
  await writeFile(join(other, 'onnx/model_check_lehr_draft.onnx'), 'half');
  expect(await undoConversion(other)).toBe(false);
  expect(await filesOf(other)).toEqual(before);
});

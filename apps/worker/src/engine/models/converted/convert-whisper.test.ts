import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TinyWhisperOptions, writeTinyWhisper } from '@lehr/demo-models';
import { DATA_TYPE, decode, encode, type GraphProto, type ModelProto } from '@lehr/onnx-model';
import { expect, test } from 'vitest';
import { tempFolder } from '../../../../../../test/support/tiny-models.ts';
import { onnxRuntime } from '../../runtime/onnx.ts';
import { openWhisperModel } from '../../whisper/folder/whisper-folder.ts';
import { undoConversion, VARIANTS } from './convert-variant.ts';
import { convertWhisper, INT8_TOLERANCE } from './convert-whisper.ts';
import { CONVERTED_MANIFEST } from './manifest.ts';

const CPU = { providers: ['cpu'], threads: 1 } as const;

async function tiny(options: TinyWhisperOptions = {}): Promise<string> {
  const folder = await tempFolder('converted');
  await writeTinyWhisper(folder, options);
  return folder;
}

/** Every file below the folder with its bytes. */
async function contentOf(folder: string): Promise<Map<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((each) => each.isFile()).map((each) => join(each.parentPath, each.name));
  return new Map(
    await Promise.all(
      files.sort().map(async (path) => [path, await readFile(path, 'base64')] as [string, string]),
    ),
  );
}

const convert = (folder: string) => convertWhisper(folder, onnxRuntime, CPU);

const modelOf = async (path: string): Promise<ModelProto> => decode('ModelProto', await readFile(path));

const nodesOf = (graph: GraphProto): string[] =>
  (graph.node ?? []).flatMap(({ opType, attribute }) => [
    opType ?? '',
    ...(attribute ?? []).flatMap(({ g }) => (g ? nodesOf(g) : [])),
  ]);

const layouts: readonly (TinyWhisperOptions & { readonly note: string })[] = [
  { note: 'merged' },
  { note: 'merged, newer exporter, onnx/', style: 'transformers-4.48', graphs: 'onnx' },
  { note: 'split', decoder: 'split' },
  { note: 'weights beside the graphs', externalData: true, crossAttentions: true },
];

test.each(layouts)(
  'A Whisper folder gets int8 graphs that open, and undo restores it: $note',
  async (options) => {
    const folder = await tiny(options);
    const before = await contentOf(folder);
    const { graphs, difference, same, tokens } = await convert(folder);
    expect(graphs).toHaveLength(options.decoder === 'split' ? 3 : 2);
    expect(difference).toBeGreaterThan(0);
    expect(difference).toBeLessThanOrEqual(INT8_TOLERANCE.difference);
    expect(same).toBeGreaterThanOrEqual(INT8_TOLERANCE.same * tokens);
    const opened = await openWhisperModel(folder, onnxRuntime, { ...CPU, variant: VARIANTS.int8 });
    expect(opened.decoder.batching).toEqual({ mode: 'rows' });
    await opened.close();

    // Converting again replaces what the first conversion made.
    await convert(folder);
    const added = [...(await contentOf(folder)).keys()].filter((path) => !before.has(path));
    expect(added.sort()).toEqual(
      [CONVERTED_MANIFEST, ...graphs.map(({ result }) => result)].map((path) => join(folder, path)).sort(),
    );
    expect(await undoConversion(folder)).toBe(true);
    expect(await contentOf(folder)).toEqual(before);
    expect(await undoConversion(folder)).toBe(false);
  },
);

test('Only products with weights compute in int8; norms and softmax stay float32, and float32 copies are gone', async () => {
  const folder = await tiny();
  await convert(folder);
  const before = await modelOf(join(folder, 'encoder_model.onnx'));
  const after = await modelOf(join(folder, 'encoder_model_quantized.onnx'));
  const made = new Set(['MatMul', 'MatMulInteger', 'DynamicQuantizeLinear', 'Cast', 'Mul']);
  const others = (model: ModelProto) => nodesOf(model.graph ?? {}).filter((each) => !made.has(each));
  expect(others(after)).toEqual(others(before));
  const weights = after.graph?.initializer ?? [];
  const whole = weights.filter(({ dataType }) => dataType === DATA_TYPE.int8);
  expect(whole.length).toBe(nodesOf(after.graph ?? {}).filter((each) => each === 'MatMulInteger').length);
  for (const { name } of whole) {
    expect(weights.map((each) => each.name)).not.toContain(name?.replace(/_int8$/, ''));
  }
});

test('A graph of that name which Lehr did not make is never replaced or removed', async () => {
  const folder = await tiny();
  const own = join(folder, 'encoder_model_quantized.onnx');
  await writeFile(own, 'mine');
  await expect(convert(folder)).rejects.toThrow('encoder_model_quantized.onnx is already there');
  await rm(own);
  await convert(folder);
  await writeFile(own, 'mine');
  expect(await undoConversion(folder)).toBe(true);
  expect(await readFile(own, 'utf8')).toBe('mine');
  expect(await readdir(folder)).not.toContain('decoder_model_merged_quantized.onnx');
});

test('What a killed conversion has left is removed by the next one, and by undo', async () => {
  const folder = await tiny();
  const before = await contentOf(folder);
  await mkdir(join(folder, 'onnx'));
  for (const name of ['encoder_model_lehr_draft.onnx', 'onnx/decoder_model_lehr_draft.onnx']) {
    await writeFile(join(folder, name), 'half');
  }
  expect(await undoConversion(folder)).toBe(false);
  expect(await contentOf(folder)).toEqual(before);
});

test('A weight that is not finite is refused by name, and nothing is kept', async () => {
  const folder = await tiny();
  const path = join(folder, 'encoder_model.onnx');
  const model = await modelOf(path);
  const inputs = model.graph?.node
    ?.filter(({ opType }) => opType === 'MatMul')
    .map(({ input }) => input?.[1]);
  const weight = model.graph?.initializer?.find(({ name }) => inputs?.includes(name ?? ''));
  if (!weight?.rawData) throw new Error('Wanted a weight of a MatMul.');
  weight.rawData = new Uint8Array(weight.rawData);
  new DataView(weight.rawData.buffer).setFloat32(0, Number.POSITIVE_INFINITY, true);
  await writeFile(path, encode('ModelProto', model));
  const before = await contentOf(folder);
  await expect(convert(folder)).rejects.toThrow(`${weight.name} has the value Infinity`);
  expect(await contentOf(folder)).toEqual(before);
});

test('Undo refuses a manifest that names a file outside of the folder, and removes nothing', async () => {
  const folder = await tiny();
  await convert(folder);
  const path = join(folder, CONVERTED_MANIFEST);
  const manifest = JSON.parse(await readFile(path, 'utf8')) as { results: object[] };
  const before = await contentOf(folder);
  // The last one passes for a path below the folder where a line ends at its line break.
  for (const outside of ['/etc/passwd', '../passwd', 'a/../../passwd', 'a\n/../../passwd']) {
    const results = manifest.results.map((each) => ({ ...each, path: outside }));
    await writeFile(path, JSON.stringify({ ...manifest, results }));
    await expect(undoConversion(folder), JSON.stringify(outside)).rejects.toThrow('is not a manifest');
  }
  await rm(path);
  before.delete(path);
  expect(await contentOf(folder)).toEqual(before);
});

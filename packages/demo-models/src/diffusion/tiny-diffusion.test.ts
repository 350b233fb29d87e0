import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decode, type GraphProto, toNumber } from '@lehr/onnx-model';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type TinyDiffusionOptions, writeTinyDiffusion } from './tiny-diffusion.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lehr-tiny-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const filesIn = (root: string): string[] =>
  readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((name) => statSync(join(root, name)).isFile())
    .sort();

function graphOf(root: string, graph: string): GraphProto {
  const model = decode('ModelProto', readFileSync(join(root, graph, 'model.onnx')));
  if (!model.graph) throw new Error('Wanted a graph.');
  return model.graph;
}

const signature = (values: GraphProto['input']) =>
  values?.map(({ name, type }) => {
    const { elemType, shape } = type?.tensorType ?? {};
    return [name, elemType, shape?.dim?.map(({ dimParam, dimValue }) => dimParam || toNumber(dimValue))];
  });

const sha256 = (root: string) =>
  filesIn(root).map((name) => [
    name,
    createHash('sha256')
      .update(readFileSync(join(root, name)))
      .digest('hex'),
  ]);

const OPTIMUM_FILES = [
  'model_index.json',
  'scheduler/scheduler_config.json',
  'text_encoder/config.json',
  'text_encoder/model.onnx',
  'tokenizer/merges.txt',
  'tokenizer/special_tokens_map.json',
  'tokenizer/tokenizer_config.json',
  'tokenizer/vocab.json',
  'unet/config.json',
  'unet/model.onnx',
  'vae_decoder/config.json',
  'vae_decoder/model.onnx',
];

test('The files are those of an Optimum export, and small', async () => {
  await writeTinyDiffusion(folder);
  expect(filesIn(folder)).toEqual(OPTIMUM_FILES);
  const bytes = filesIn(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
  expect(bytes).toBeLessThan(3_000_000);
});

test('Inputs and outputs have the names and shapes of an Optimum export', async () => {
  await writeTinyDiffusion(folder);
  const unet = graphOf(folder, 'unet');
  expect(signature(unet.input)).toEqual([
    ['sample', 1, ['batch_size', 4, 'height', 'width']],
    ['timestep', 7, []],
    ['encoder_hidden_states', 1, ['batch_size', 'sequence_length', 32]],
  ]);
  expect(signature(unet.output)).toEqual([['out_sample', 1, ['batch_size', 4, 'height', 'width']]]);
  expect(signature(graphOf(folder, 'text_encoder').input)).toEqual([
    ['input_ids', 7, ['batch_size', 'sequence_length']],
  ]);
  expect(signature(graphOf(folder, 'vae_decoder').input)).toEqual([
    ['latent_sample', 1, ['batch_size', 4, 'height_latent', 'width_latent']],
  ]);
});

test('The timestep goes through an Unsqueeze and an Expand', async () => {
  for (const opset of [12, 14]) {
    await writeTinyDiffusion(folder, { opset });
    const nodes = graphOf(folder, 'unet').node ?? [];
    const lift = nodes.find(({ input }) => input?.includes('timestep'));
    expect(lift?.opType).toBe('Unsqueeze');
    expect(lift?.input).toHaveLength(opset < 13 ? 1 : 2);
    const readers = nodes.filter(({ input }) => input?.includes(lift?.output?.[0] ?? ''));
    expect(readers.map(({ opType }) => opType)).toEqual(['Expand']);
  }
});

test('The same options give the same bytes, and another seed gives other bytes', async () => {
  const write = async (name: string, options: TinyDiffusionOptions) => {
    await writeTinyDiffusion(join(folder, name), options);
    return sha256(join(folder, name));
  };
  const first = await write('a', { seed: 7 });
  expect(await write('b', { seed: 7 })).toEqual(first);
  const other = await write('c', { seed: 8 });
  const changed = first.filter(([, hash], i) => hash !== other[i][1]).map(([name]) => name);
  expect(changed).toEqual(['text_encoder/model.onnx', 'unet/model.onnx', 'vae_decoder/model.onnx']);
});

test('External data moves all larger weights into one file beside the graph', async () => {
  await writeTinyDiffusion(join(folder, 'inside'));
  await writeTinyDiffusion(join(folder, 'beside'), { externalData: true });
  const data = readFileSync(join(folder, 'beside/unet/model.onnx_data'));
  const inside = graphOf(join(folder, 'inside'), 'unet').initializer ?? [];
  for (const [i, tensor] of (graphOf(join(folder, 'beside'), 'unet').initializer ?? []).entries()) {
    const place = Object.fromEntries(tensor.externalData?.map(({ key, value }) => [key, value]) ?? []);
    const [offset, length] = [Number(place.offset), Number(place.length)];
    const bytes = tensor.dataLocation ? data.subarray(offset, offset + length) : tensor.rawData;
    expect(place.location ?? 'model.onnx_data').toBe('model.onnx_data');
    expect(Buffer.compare(bytes ?? Buffer.alloc(0), inside[i].rawData ?? Buffer.alloc(0))).toBe(0);
  }
  expect(data.byteLength).toBeGreaterThan(50_000);
});

import { cp, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TinyDiffusionOptions, writeTinyDiffusion } from '@lehr/demo-models';
import { DATA_TYPE, decode, encode, type ModelProto } from '@lehr/onnx-model';
import { expect, test } from 'vitest';
import { unpackFixture } from '../../../../../../test/support/diffusion-fixtures.ts';
import { tempFolder } from '../../../../../../test/support/tiny-models.ts';
import { openDiffusionModel } from '../../diffusion/folder/diffusion-folder.ts';
import { createSamplerRun } from '../../diffusion/samplers/index.ts';
import { onnxRuntime } from '../../runtime/onnx.ts';
import { largestDifference } from '../../runtime/tensor.ts';
import { convertDiffusion, HALF_TOLERANCE } from './convert-diffusion.ts';
import { CONVERTED_MANIFEST, isHalfCopy } from './manifest.ts';

const CPU = { providers: ['cpu'], threads: 1 } as const;
const SIDE = 64;
const GREY_VALUES = 4;

async function tiny(options: TinyDiffusionOptions = {}): Promise<{ folder: string; copy: string }> {
  const [folder, copy] = [await tempFolder('float32'), await tempFolder('half')];
  await writeTinyDiffusion(folder, { seed: 5, ...options });
  return { folder, copy };
}

async function convert({ folder, copy }: { folder: string; copy: string }) {
  await cp(folder, copy, { recursive: true });
  return convertDiffusion(copy, onnxRuntime, CPU);
}

/** The bytes of a picture of eight steps, each without guidance. */
async function draw(folder: string): Promise<Float32Array> {
  const model = await openDiffusionModel(folder, onnxRuntime, CPU);
  try {
    expect(model.batching).toEqual({ mode: 'rows' });
    const [{ hidden }] = await model.textEncoder.encode(['a red cat']);
    const size = { height: SIDE / 8, width: SIDE / 8 };
    const latent = Float32Array.from({ length: 4 * size.height * size.width }, (_, i) => Math.sin(i * i));
    const config = model.schedulerConfig;
    const run = createSamplerRun({ name: 'ddim', config, steps: 8, latentLength: latent.length });
    const input = new Float32Array(latent.length);
    for (const timestep of run.timesteps) {
      run.scaleModelInput(latent, input);
      const { rows } = await model.unet.predict([{ latent: input, promptEmbedding: hidden, timestep }], size);
      run.step(rows[0], latent, () => {
        throw new Error('ddim draws no noise.');
      });
    }
    return Float32Array.from(await model.vae.decode(latent, { height: SIDE, width: SIDE }));
  } finally {
    await model.close();
  }
}

const graphPath = (folder: string, graph: string): string => join(folder, graph, 'model.onnx');
const modelOf = async (path: string): Promise<ModelProto> => decode('ModelProto', await readFile(path));

/** The bytes of a graph's folder without its configuration. */
async function bytesOf(folder: string): Promise<number> {
  const names = (await readdir(folder)).filter((name) => name !== 'config.json');
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(folder, name))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** The operators that read or write a value of float16, other than Cast. */
function halfOperators({ graph }: ModelProto): Set<string> {
  const isHalf = (name: string): boolean => name.endsWith('_lehr_half');
  const nodes = (graph?.node ?? []).filter(({ opType }) => opType !== 'Cast');
  return new Set(
    nodes
      .filter(({ input, output }) => [...(input ?? []), ...(output ?? [])].some(isHalf))
      .map(({ opType }) => opType ?? ''),
  );
}

const variants: readonly TinyDiffusionOptions[] = [
  {},
  { externalData: true, timestepType: 'float32', opset: 11 },
  { castTimestepFirst: true, opset: 17 },
];

test.each(variants)(
  'A model in half precision opens in the engine and draws what the original draws: %o',
  async (options) => {
    const folders = await tiny(options);
    const graphs = await convert(folders);
    expect(graphs.map(({ graph, precision }) => [graph, precision])).toEqual([
      ['text_encoder/model.onnx', 'float16'],
      ['unet/model.onnx', 'float16'],
    ]);
    for (const { difference } of graphs) {
      expect(difference).toBeGreaterThan(0);
      expect(difference).toBeLessThanOrEqual(HALF_TOLERANCE);
    }
    const [original, half] = [await draw(folders.folder), await draw(folders.copy)];
    expect(Math.max(...original) - Math.min(...original)).toBeGreaterThan(50);
    expect(largestDifference(original, half)).toBeLessThanOrEqual(GREY_VALUES);
    const size = (folder: string): Promise<number> => bytesOf(join(folder, 'text_encoder'));
    expect((await size(folders.copy)) / (await size(folders.folder))).toBeLessThan(0.6);
    expect(await readdir(join(folders.copy, 'unet'))).not.toContain('model.onnx_data');
  },
);

test('The weights of a UNet need half the bytes; norms, softmax, angles and the VAE stay float32', async () => {
  const folders = await tiny();
  const graphs = await convert(folders);
  const model = await modelOf(graphPath(folders.copy, 'unet'));
  const weights = model.graph?.initializer ?? [];
  const large = weights.filter(({ dims }) => (dims ?? []).length > 1);
  expect(large.length).toBeGreaterThan(0);
  for (const { dataType } of large) expect(dataType).toBe(DATA_TYPE.float16);
  const data = await stat(join(folders.copy, 'unet/model.lehr-half.onnx_data'));
  const { graph: original } = await modelOf(graphPath(folders.folder, 'unet'));
  const before = (original?.initializer ?? []).reduce(
    (sum, { rawData }) => sum + (rawData?.byteLength ?? 0),
    0,
  );
  expect(data.size / before).toBeGreaterThan(0.4);
  expect(data.size / before).toBeLessThan(0.55);
  expect(graphs[1].bytes.after).toBeLessThan(graphs[1].bytes.before);

  const operators = new Set([
    ...halfOperators(model),
    ...halfOperators(await modelOf(graphPath(folders.copy, 'text_encoder'))),
  ]);
  for (const each of ['MatMul', 'Conv', 'Add', 'Gather']) expect(operators).toContain(each);
  const kept = [
    'Softmax',
    'ReduceMean',
    'Pow',
    'Sqrt',
    'InstanceNormalization',
    'LayerNormalization',
    'Sin',
    'Cos',
  ];
  for (const each of kept) expect(operators).not.toContain(each);
  const vae = (folder: string): Promise<Buffer> => readFile(graphPath(folder, 'vae_decoder'));
  expect(await vae(folders.copy)).toEqual(await vae(folders.folder));
});

test('A weight above 65504 stays float32, and so does the node that reads it', async () => {
  const folders = await tiny();
  const path = graphPath(folders.folder, 'unet');
  const model = await modelOf(path);
  const gain = model.graph?.initializer?.find(({ name }) => name === 'skip.gain');
  if (!gain) throw new Error('Wanted the weight skip.gain.');
  gain.rawData = new Uint8Array(Float32Array.of(70_000).buffer);
  await writeFile(path, encode('ModelProto', model));
  const graphs = await convert(folders);
  expect(graphs[1]).toMatchObject({ graph: 'unet/model.onnx', precision: 'float16' });
  const { graph } = await modelOf(graphPath(folders.copy, 'unet'));
  const kept = graph?.initializer?.find(({ name }) => name === 'skip.gain');
  expect(kept).toMatchObject({ dataType: DATA_TYPE.float32 });
  expect(graph?.node?.find(({ input }) => input?.includes('skip.gain'))?.input?.[0]).toBe('sample');
});

test('A graph whose values overflow in half precision stays as it was, with the reason', async () => {
  const folders = await tiny();
  const path = graphPath(folders.folder, 'unet');
  const model = await modelOf(path);
  const gain = model.graph?.initializer?.find(({ name }) => name === 'net.gain');
  if (!gain) throw new Error('Wanted the weight net.gain.');
  // In float16 the product is infinite.
  gain.rawData = new Uint8Array(Float32Array.of(60_000).buffer);
  const last = model.graph?.initializer?.find(({ name }) => name === 'conv_out.bias');
  if (!last) throw new Error('Wanted the weight conv_out.bias.');
  last.rawData = new Uint8Array(new Float32Array(4).fill(100).buffer);
  await writeFile(path, encode('ModelProto', model));
  const graphs = await convert(folders);
  expect(graphs[1]).toMatchObject({
    precision: 'float32',
    reason: expect.stringContaining('is not finite in half precision'),
  });
  expect(graphs[0].precision).toBe('float16');
  const unet = (folder: string): Promise<string[]> => readdir(join(folder, 'unet'));
  expect(await unet(folders.copy)).toEqual(await unet(folders.folder));
  expect(await readFile(graphPath(folders.copy, 'unet'))).toEqual(await readFile(path));
});

test('All attentions of an exported UNet and text encoder are fused in half precision too', {
  tags: ['long'],
}, async () => {
  const folder = await tempFolder('half');
  unpackFixture('sd15', folder);
  await convertDiffusion(folder, onnxRuntime, CPU);
  const model = await openDiffusionModel(folder, onnxRuntime, CPU);
  await model.close();
  const fusion = (attentions: number) => ({ attentions, left: {} });
  expect(model.graphs).toMatchObject([
    { graph: 'text_encoder', fusion: fusion(12) },
    { graph: 'unet', fusion: fusion(32) },
    { graph: 'vae_decoder' },
  ]);
});

test('The manifest names sources and results by SHA-256, and such a copy is not converted again', async () => {
  const folders = await tiny({ externalData: true });
  await convert(folders);
  const manifest = JSON.parse(await readFile(join(folders.copy, CONVERTED_MANIFEST), 'utf8'));
  const paths = (files: readonly { path: string }[]) => files.map(({ path }) => path);
  const of = (name: string) =>
    ['text_encoder', 'unet'].flatMap((graph) => [`${graph}/model.onnx`, `${graph}/${name}`]);
  expect(paths(manifest.sources)).toEqual(of('model.onnx_data'));
  expect(paths(manifest.results)).toEqual(of('model.lehr-half.onnx_data'));
  expect(manifest).toMatchObject({ precision: 'fp16', tolerance: HALF_TOLERANCE });
  expect(await isHalfCopy(folders.copy)).toBe(true);
  await expect(convertDiffusion(folders.copy, onnxRuntime, CPU)).rejects.toThrow('already in half precision');
});

test('A model that is in half precision already is refused', async () => {
  await expect(convert(await tiny({ dtype: 'float16' }))).rejects.toThrow(
    'No graph could be converted to half precision (text_encoder/model.onnx: it has weights in float16 already.; unet/model.onnx: it has weights',
  );
});

import { appendFile, cp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writeTinyDiffusion, writeTinyWhisper } from '@lehr/demo-models';
import { expect, test } from 'vitest';
import { changeOutput } from '../../../../../../test/support/changed-output.ts';
import { unpackFixture } from '../../../../../../test/support/diffusion-fixtures.ts';
import { unpackTextFixture } from '../../../../../../test/support/text-fixtures.ts';
import { tempFolder } from '../../../../../../test/support/tiny-models.ts';
import { openDiffusionModel } from '../../diffusion/folder/diffusion-folder.ts';
import { probeRow } from '../../diffusion/folder/load-rows.ts';
import { MANIFEST, PREPARED_FOLDER, weightsDigest } from '../../folder/prepared-manifest.ts';
import { onnxRuntime } from '../../runtime/onnx.ts';
import type { InferenceRuntime, LoadOptions } from '../../runtime/runtime.ts';
import { largestDifference } from '../../runtime/tensor.ts';
import { openFolder } from '../open-folder.ts';
import { prepareFolder, unprepareFolder } from './prepare-folder.ts';

const CPU = { providers: ['cpu'] } as const;

async function tinyFolder(): Promise<string> {
  const folder = await tempFolder('prepared');
  await writeTinyDiffusion(folder, { seed: 5, timestepType: 'float32' });
  return folder;
}

/** Which graphs of a folder a worker loads from what was prepared. */
async function preparedGraphs(
  folder: string,
  options: object = {},
  runtime = onnxRuntime,
): Promise<string[]> {
  const opened = await openFolder('diffusion', folder, runtime, { ...CPU, ...options });
  await opened.close();
  return opened.graphs.flatMap(({ graph, prepared }) => (prepared ? [graph] : []));
}

test('A prepared graph has its attentions fused, and is compared with the graph as exported', async () => {
  const folder = await tempFolder('prepared');
  unpackTextFixture('bert-sentences', folder, 'onnx');
  const loaded: LoadOptions['fuses'][] = [];
  const watched: InferenceRuntime = {
    ...onnxRuntime,
    load: (graph, options) => {
      loaded.push(options.fuses);
      return onnxRuntime.load(graph, options);
    },
  };
  const { graphs } = await prepareFolder('text', folder, watched, CPU);
  const [optimized] = graphs[0].optimized ?? [];
  expect((await readFile(join(folder, optimized.path))).includes('lehr.attention.0')).toBe(true);
  expect(graphs[0].difference).toBeLessThan(1e-5);
  // The one that its inputs and outputs are taken from.
  expect(loaded[0]).toBe(false);
});

test.each([
  [1.00005, false],
  [1.000005, true],
])(
  'A float32 graph is kept when its outputs differ by at most 0.00001 of the largest value: times %f',
  async (by, isKept) => {
    const folder = await tempFolder('prepared');
    unpackTextFixture('bert-classes', folder, 'onnx');
    const planting: InferenceRuntime = {
      ...onnxRuntime,
      async load(graph, options) {
        const session = await onnxRuntime.load(graph, options);
        if (options.saveOptimized !== undefined) await changeOutput(options.saveOptimized, 'Mul', by);
        return session;
      },
    };
    const { graphs } = await prepareFolder('text', folder, planting, CPU);
    expect(graphs).toMatchObject([{ tolerance: 1e-5, difference: expect.closeTo(by - 1, 5) }]);
    expect(graphs[0].optimized !== undefined).toBe(isKept);
  },
);

test('A graph in half precision whose inputs and outputs are float32 is kept as one in half precision', {
  tags: ['long'],
}, async () => {
  const folder = await tempFolder('prepared');
  unpackFixture('sd15-fp16-converted', folder);
  const { graphs } = await prepareFolder('diffusion', folder, onnxRuntime, CPU);
  expect(graphs.map(({ graph, tolerance, optimized }) => [graph, tolerance, optimized?.length])).toEqual([
    ['text_encoder/model.onnx', 1e-5, 2],
    ['unet/model.onnx', 0.02, 2],
    ['vae_decoder/model.onnx', 1e-5, 2],
  ]);
});

const ALL = ['text_encoder', 'unet', 'vae_decoder'];

test('A prepared model is loaded from its optimized graphs and predicts what the original does', async () => {
  const folder = await tinyFolder();
  const predict = async () => {
    const model = await openDiffusionModel(folder, onnxRuntime, CPU);
    const size = { width: 8, height: 8 };
    const row = probeRow(model.unet, size, model.tokenizer.maxTokens, 400);
    const [values] = (await model.unet.predict([row, row], size)).rows.map((each) => each.slice());
    await model.close();
    return { values, batching: model.batching };
  };
  const original = await predict();
  const digest = await weightsDigest(folder);
  expect(await preparedGraphs(folder)).toEqual([]);

  const { graphs } = await prepareFolder('diffusion', folder, onnxRuntime, CPU);
  expect(graphs.map(({ graph }) => graph)).toEqual(
    ['text_encoder', 'unet', 'vae_decoder'].map((name) => `${name}/model.onnx`),
  );
  for (const { difference, tolerance } of graphs) expect(difference).toBeLessThanOrEqual(tolerance ?? 0);
  expect(graphs.map(({ rewired }) => rewired !== undefined)).toEqual([false, true, false]);
  expect(await preparedGraphs(folder)).toEqual(ALL);
  const prepared = await predict();
  expect(prepared.batching).toEqual(original.batching);
  expect(largestDifference(prepared.values, original.values)).toBeLessThan(1e-4);
  // Checkpoints of pictures stay valid.
  expect(await weightsDigest(folder)).toBe(digest);

  // Preparing again replaces the files, and undoing leaves the folder as it was.
  await prepareFolder('diffusion', folder, onnxRuntime, CPU);
  expect(await preparedGraphs(folder)).toEqual(ALL);
  expect(await readdir(join(folder, PREPARED_FOLDER))).toHaveLength(2);
  expect(await unprepareFolder(folder)).toBe(true);
  expect(await unprepareFolder(folder)).toBe(false);
  expect(await readdir(folder)).not.toContain(PREPARED_FOLDER);
  expect(await preparedGraphs(folder)).toEqual([]);
});

test('The encoder of a Whisper model is prepared, and its decoder still lets rows share calls', async () => {
  const folder = await tempFolder('prepared');
  await writeTinyWhisper(folder);
  await prepareFolder('whisper', folder, onnxRuntime, CPU);
  const opened = await openFolder('whisper', folder, onnxRuntime, CPU);
  await opened.close();
  const prepared = opened.graphs.flatMap((each) => (each.prepared ? [each.graph] : []));
  expect(prepared).toContain('encoder');
  expect(opened.batching).toBe('step by step');
});

test('Optimized graphs are not used with another ONNX Runtime, processor, level or device', async () => {
  const folder = await tinyFolder();
  await prepareFolder('diffusion', folder, onnxRuntime, CPU);
  const other: InferenceRuntime = { ...onnxRuntime, version: '0.0.1' };
  expect(await preparedGraphs(folder, {}, other)).toEqual([]);
  expect(await preparedGraphs(folder, { optimization: 'basic' })).toEqual([]);
  const path = join(folder, PREPARED_FOLDER, MANIFEST);
  const manifest = JSON.parse(await readFile(path, 'utf8')) as object;
  for (const change of [{ processor: 'linux x64 other' }, { device: 'cuda' }, { format: 2 }]) {
    await writeFile(path, JSON.stringify({ ...manifest, ...change }));
    expect(await preparedGraphs(folder), JSON.stringify(change)).toEqual([]);
  }
});

test('A prepared folder that was copied is used, and one whose files changed is not', async () => {
  const folder = await tinyFolder();
  await prepareFolder('diffusion', folder, onnxRuntime, CPU);
  const copy = await tempFolder('copied');
  await cp(folder, copy, { recursive: true });
  await utimes(join(copy, 'unet/model.onnx'), 1, 1);
  expect(await preparedGraphs(copy)).toEqual(ALL);

  const [set] = (await readdir(join(copy, PREPARED_FOLDER))).filter((name) => name !== MANIFEST);
  await appendFile(join(copy, PREPARED_FOLDER, set, '0.onnx'), 'x');
  expect(await preparedGraphs(copy)).toEqual(['unet', 'vae_decoder']);
  await rm(join(copy, PREPARED_FOLDER, set), { recursive: true });
  expect(await preparedGraphs(copy)).toEqual([]);

  await appendFile(join(folder, 'unet/config.json'), '\n');
  expect(await preparedGraphs(folder)).toEqual([]);
});

test('A preparation that fails leaves the folder as it was', async () => {
  const folder = await tinyFolder();
  await prepareFolder('diffusion', folder, onnxRuntime, CPU);
  const failing: InferenceRuntime = {
    ...onnxRuntime,
    load: (graph, options) =>
      options.saveOptimized === undefined
        ? onnxRuntime.load(graph, options)
        : Promise.reject(new Error('the disk is full')),
  };
  const before = await readFile(join(folder, PREPARED_FOLDER, MANIFEST), 'utf8');
  const { graphs } = await prepareFolder('diffusion', folder, failing, CPU);
  expect(graphs.map(({ optimized }) => optimized)).toEqual([undefined, undefined, undefined]);
  expect(before).toContain('"optimized"');
  await rm(join(folder, 'vae_decoder/model.onnx'));
  await expect(prepareFolder('diffusion', folder, onnxRuntime, CPU)).rejects.toThrow('vae_decoder');
  expect(await readdir(join(folder, PREPARED_FOLDER))).toHaveLength(2);
});

import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { demoModelsFile } from '@lehr/demo-models';
import { DATA_TYPE, decode, encode, safetensorsHeader } from '@lehr/onnx-model';
import { expect, test } from 'vitest';
import { unpackFixture } from '../../../../../../test/support/diffusion-fixtures.ts';
import {
  type LoraLayout,
  randomLora,
  writeLora,
  writeMerged,
} from '../../../../../../test/support/lora-files.ts';
import { tempFolder } from '../../../../../../test/support/tiny-models.ts';
import { readDiffusionConfig } from '../../diffusion/folder/diffusion-config.ts';
import { loadUnet } from '../../diffusion/folder/load-unet.ts';
import { openTextEncoders } from '../../diffusion/folder/open-text-encoders.ts';
import type { Unet, UnetRow } from '../../diffusion/unet.ts';
import { openWhole } from '../../folder/open-whole.ts';
import { onnxRuntime } from '../../runtime/onnx.ts';
import { importFolder } from '../imported/import-folder.ts';
import { planMerge } from '../imported/merge-adapters.ts';
import { keptGraph } from '../imported/plan-import.ts';
import { checkAdapter } from './check-adapter.ts';
import { ModelAdapters } from './model-adapters.ts';
import { readAdapter } from './read-adapter.ts';

const SIZE = { height: 16, width: 24 };
const TOKENS = 77;
const PLAN = { probe: { height: 16, width: 16 }, tokens: TOKENS };
const CPU = { providers: ['cpu'], threads: 1 } as const;

async function unpack(fixture: string) {
  const folder = await tempFolder('adapters');
  unpackFixture(fixture, folder);
  return {
    folder,
    unet: join(folder, 'unet/model.onnx'),
    file: (name: string) => join(folder, `${name}.safetensors`),
  };
}

async function openUnet(path: string, files: readonly { name: string; path: string }[] = []) {
  const adapters = new ModelAdapters(files, 2);
  const loaded = await adapters.open('unet', (adapt) => loadUnet(path, PLAN, onnxRuntime, CPU, adapt));
  adapters.close();
  return { ...loaded, adapters };
}

const values = (length: number, phase: number) =>
  Float32Array.from({ length }, (_, i) => Math.sin(i * i * 0.37 + i + phase));

const rowOf = (unet: Unet, phase = 0, adapters: UnetRow['adapters'] = []): UnetRow => ({
  latent: values(unet.inputChannels * SIZE.height * SIZE.width, phase),
  timestep: 500 - 10 * phase,
  promptEmbedding: values(TOKENS * unet.embeddingDim, phase + 1),
  conditions: Object.fromEntries([...unet.conditions].map(([name, length]) => [name, values(length, phase)])),
  adapters,
});

const predict = async (unet: Unet, rows: readonly UnetRow[]): Promise<Float32Array[]> =>
  (await unet.predict(rows, SIZE)).rows.map((each) => each.slice());

/** As a share of the largest value. */
function distance(a: Float32Array, b: Float32Array): number {
  const largest = Math.max(...b.map(Math.abs));
  return Math.max(...a.map((value, i) => Math.abs(value - b[i]))) / largest;
}

const ATTENTIONS = /attn[12]\.to_/;

type Case = readonly [fixture: string, layout: LoraLayout, only: RegExp, tolerance: number];

async function comparesMerged([fixture, layout, only, tolerance]: Case): Promise<void> {
  const { unet: path, file, folder } = await unpack(fixture);
  // PEFT keeps alphas in another file.
  const layers = randomLora(path, 'unet', { rank: 3, alpha: layout === 'peft' ? 3 : 2, only });
  writeLora(file('a'), layers, layout);
  const merged = join(folder, 'unet/merged.onnx');
  writeMerged(path, merged, [{ layers, scale: 0.7 }]);
  const { unet, adapters, session } = await openUnet(path, [{ name: 'a', path: file('a') }]);
  const { unet: wanted, session: plain } = await openUnet(merged);
  expect(adapters.opened).toEqual([{ name: 'a' }]);
  expect(unet.adapters).toEqual(['a']);
  const [row] = await predict(unet, [rowOf(unet, 0, [{ name: 'a', scale: 0.7 }])]);
  const [expected] = await predict(wanted, [rowOf(wanted)]);
  expect(distance(row, expected)).toBeLessThan(tolerance);
  // Without the adapter it is another prediction, so the comparison shows something.
  const [without] = await predict(unet, [rowOf(unet)]);
  expect(distance(without, expected)).toBeGreaterThan(0.01);
  expect(session.fusion?.attentions).toBe(plain.fusion?.attentions);
  expect(session.fusion?.attentions).toBeGreaterThan(0);
}

const TITLE = 'A row of %s with a LoRA in the names of %s (%s) gets what merged weights predict';

test.each<Case>([
  ['sd15', 'kohya', /./, 1e-5],
  ['sd15-dynamo-21-rows', 'peft', /./, 1e-5],
])(TITLE, (...each) => comparesMerged(each));

test.each<Case>([
  ['sd15', 'diffusers', ATTENTIONS, 1e-5],
  ['sd15', 'diffusers-old', ATTENTIONS, 1e-5],
  ['sd15-torchscript-14', 'kohya', /./, 1e-5],
  ['sd15-dynamo-18', 'kohya', /./, 1e-5],
  ['sdxl', 'kohya-xl', /./, 1e-5],
  ['sdxl', 'kohya', ATTENTIONS, 1e-5],
  // As far as the graph in half precision is from itself with other kernels.
  ['sd15-fp16', 'kohya', /./, 5e-3],
])(TITLE, { tags: ['long'], timeout: 120_000 }, (...each) => comparesMerged(each));

test('Eight rows with eight different adapters and scales in one call equal each row alone', async () => {
  const { unet: path, file } = await unpack('sd15');
  const names = ['a', 'b', 'c', 'd'];
  for (const [i, name] of names.entries()) {
    const only = i === 3 ? /conv|resnets/ : ATTENTIONS;
    writeLora(
      file(name),
      randomLora(path, 'unet', { rank: 2 + i, alpha: 1, seed: i + 1, only }),
      'kohya',
      i === 1 ? 'F16' : 'BF16',
    );
  }
  const { unet } = await openUnet(
    path,
    names.map((name) => ({ name, path: file(name) })),
  );
  const uses: UnetRow['adapters'][] = [
    [],
    [{ name: 'a', scale: 1 }],
    [{ name: 'b', scale: -0.5 }],
    [{ name: 'c', scale: 2 }],
    [{ name: 'd', scale: 1 }],
    [
      { name: 'a', scale: 0.3 },
      { name: 'd', scale: 0.9 },
    ],
    [{ name: 'c', scale: 0 }],
    names.map((name) => ({ name, scale: 0.4 })),
  ];
  const rows = uses.map((adapters, i) => rowOf(unet, i, adapters));
  const together = await predict(unet, rows);
  for (const [i, row] of rows.entries())
    expect(distance(together[i], (await predict(unet, [row]))[0])).toBeLessThan(1e-5);
});

/** The text encoders of a model alone, because opening its UNet takes far longer. */
async function openEncodersOf(folder: string, files: readonly { name: string; path: string }[] = []) {
  const adapters = new ModelAdapters(files, 2);
  const config = await readDiffusionConfig(folder);
  const opened = await openWhole(folder, onnxRuntime, (runtime) =>
    openTextEncoders(folder, config, runtime, CPU, adapters),
  );
  const close = async () => {
    adapters.close();
    await opened.close();
  };
  return { ...opened, adapters, close };
}

/** A model with two adapters of its text encoders, and one of each encoder alone where it has two. */
async function openEncoders(fixture: string) {
  const { folder, file } = await unpack(fixture);
  const parts = (['text_encoder', 'text_encoder_2'] as const).filter((part) =>
    existsSync(join(folder, part, 'model.onnx')),
  );
  const layers = parts.map((part, i) =>
    randomLora(join(folder, part, 'model.onnx'), part, { seed: i + 5, size: 1 }),
  );
  writeLora(file('all'), layers.flat(), parts.length > 1 ? 'kohya-xl' : 'kohya');
  writeLora(file('last'), layers[parts.length - 1], 'diffusers', 'F16');
  const adapters = ['all', 'last'].map((name) => ({ name, path: file(name) }));
  const model = await openEncodersOf(folder, adapters);
  const merged = await tempFolder('merged');
  cpSync(folder, merged, { recursive: true });
  for (const [i, part] of parts.entries())
    writeMerged(join(folder, part, 'model.onnx'), join(merged, part, 'model.onnx'), [
      { layers: layers[i], scale: 0.5 },
    ]);
  const wanted = await openEncodersOf(merged);
  return { model, wanted };
}

const promptOf = (adapters: UnetRow['adapters'], clipSkip?: number) =>
  ({ text: 'a red fox', syntax: 'plain', clipSkip, field: 'prompt', adapters }) as const;

test.each([
  ['sd15', [undefined, 2]],
  ['sdxl', [undefined]],
])(
  'Prompts of %s are encoded with the adapters of their pictures, each with its own',
  async (fixture, skips) => {
    const { model, wanted } = await openEncoders(fixture);
    expect(model.adapters.opened).toEqual([{ name: 'all' }, { name: 'last' }]);
    for (const clipSkip of skips) {
      const uses = [
        [],
        [{ name: 'all', scale: 0.5 }],
        [{ name: 'last', scale: -1 }],
        [{ name: 'all', scale: 0 }],
      ];
      const together = await model.textEncoder.encode(uses.map((each) => promptOf(each, clipSkip)));
      const [expected] = await wanted.textEncoder.encode([promptOf([], clipSkip)]);
      expect(distance(together[1].hidden, expected.hidden)).toBeLessThan(1e-5);
      if (expected.pooled)
        expect(distance(together[1].pooled ?? expected.hidden, expected.pooled)).toBeLessThan(1e-5);
      // Those that act on nothing are those without any.
      expect(together[3]).toBe(together[0]);
      for (const i of [1, 2]) expect(distance(together[i].hidden, together[0].hidden)).toBeGreaterThan(0.01);
      // Half of the embedding is of the first encoder, which this adapter does not change.
      const again = await model.textEncoder.encode([
        promptOf(uses[2], clipSkip),
        promptOf(uses[1], clipSkip),
      ]);
      expect(again).toEqual([together[2], together[1]]);
    }
    await model.close();
    await wanted.close();
  },
);

test('The layers of a graph that stores halves and computes in single precision take adapters', async () => {
  const demo = join(dirname(demoModelsFile()), 'demo-diffusion/unet/model.onnx');
  const path = join(dirname(demoModelsFile()), 'demo-adapters/night.safetensors');
  const { unet, session, adapters } = await openUnet(demo, [{ name: 'night', path }]);
  try {
    expect(adapters.opened).toEqual([{ name: 'night' }]);
    const [without, at0, at1] = await predict(unet, [
      rowOf(unet),
      rowOf(unet, 0, [{ name: 'night', scale: 0 }]),
      rowOf(unet, 0, [{ name: 'night', scale: 1 }]),
    ]);
    expect(distance(at0, without)).toBe(0);
    expect(distance(at1, without)).toBeGreaterThan(0.01);
  } finally {
    await session.close();
  }
});

test('An adapter that cannot be used says why, and the model opens with the others', async () => {
  const { unet: path, file } = await unpack('sd15');
  const layers = randomLora(path, 'unet', { only: /attn1\.to_q/ });
  writeLora(file('good'), layers);
  const [first] = layers;
  writeLora(file('nan'), [{ ...first, up: first.up.map(() => Number.NaN) }]);
  writeLora(file('wide'), [
    {
      ...first,
      module: { ...first.module, inputs: first.module.inputs / 2 },
      down: first.down.slice(first.down.length / 2),
    },
  ]);
  writeLora(file('elsewhere'), [{ ...first, path: 'down_blocks.7.attentions.0.proj_in' }]);
  writeLora(file('partly'), [first, { ...first, path: 'down_blocks.7.attentions.0.proj_in' }]);
  const loha = [{ name: 'lora_unet_conv_in.hada_w1_a', dtype: 'F32' as const, shape: [0] }];
  writeFileSync(file('loha'), safetensorsHeader(loha));
  const names = ['nan', 'good', 'wide', 'elsewhere', 'partly', 'loha', 'missing'];
  const { unet, adapters } = await openUnet(
    path,
    names.map((name) => ({ name, path: file(name) })),
  );
  expect(unet.adapters).toEqual(['good', 'partly']);
  expect(adapters.opened).toEqual([
    {
      name: 'nan',
      problem: expect.stringMatching(/^nan\.safetensors has values in \S+ that are no numbers\.$/),
    },
    { name: 'good' },
    { name: 'wide', problem: expect.stringContaining('is of another architecture') },
    { name: 'elsewhere', problem: 'elsewhere.safetensors has no layer that this model has.' },
    { name: 'partly', unused: ['lora_unet_down_blocks_7_attentions_0_proj_in.lora_down.weight'] },
    { name: 'loha', problem: 'loha.safetensors is a LoHa; Lehr takes LoRA and LoCon.' },
    { name: 'missing', problem: 'missing.safetensors is not a file.' },
  ]);
  expect(() => adapters.check([{ name: 'good' }])).not.toThrow();
  for (const name of ['loha', 'unknown']) {
    const pointer = '/input/adapters/1/name';
    const problems = [
      expect.objectContaining({ pointer, detail: expect.stringContaining(JSON.stringify(name)) }),
    ];
    expect(() => adapters.check([{ name: 'good' }, { name }])).toThrow(
      expect.objectContaining({ code: 'invalid-input', problems }),
    );
  }
});

test('A version has adapters of 512 ranks together, and one that would make them more is refused with the numbers', async () => {
  const { unet: path, file, folder } = await unpack('sd15');
  const ranks = { most: 300, more: 213, rest: 212, last: 1 };
  for (const [name, rank] of Object.entries(ranks))
    writeLora(file(name), randomLora(path, 'unet', { rank, only: /down_blocks\.0\..*attn1\.to_q/ }));
  const files = Object.keys(ranks).map((name) => ({ name, path: file(name) }));
  const { unet, adapters, session } = await openUnet(path, files);
  await session.close();
  expect(unet.adapters).toEqual(['most', 'rest']);
  const tooMany = (name: string, rank: number, before: number) =>
    `${name}.safetensors has rank ${rank}, and the adapters before it have ${before} together; a version can have 512.`;
  expect(adapters.opened).toEqual([
    { name: 'most' },
    { name: 'more', problem: tooMany('more', 213, 300) },
    { name: 'rest' },
    { name: 'last', problem: tooMany('last', 1, 512) },
  ]);
  const model = { folder, name: 'sd15' };
  const [most, more, rest] = files;
  expect(await checkAdapter(rest.path, model, [most])).toMatchObject({ rank: 212 });
  await expect(checkAdapter(more.path, model, [most])).rejects.toThrow(tooMany('more', 213, 300));
});

/** As quantizers write it: one weight of the graph is in int8. */
function quantizeOne(path: string): void {
  const model = decode('ModelProto', new Uint8Array(readFileSync(path)));
  const { graph } = model;
  if (!graph) throw new Error(`${path} has no graph.`);
  const node = graph.node?.find(({ opType, name }) => opType === 'MatMul' && /attn2.to_k/.test(name ?? ''));
  if (!node?.input) throw new Error(`${path} has no such layer.`);
  const [x, weight] = node.input;
  const bytes = new Uint8Array(Float32Array.of(0.01).buffer);
  const scale = { name: 'int8.scale', dims: [], dataType: DATA_TYPE.float32, rawData: bytes };
  graph.initializer = [...(graph.initializer ?? []), scale];
  node.input = [x, 'int8.weight'];
  const quantize = { opType: 'QuantizeLinear', input: [weight, scale.name], output: ['int8.codes'] };
  const restore = { opType: 'DequantizeLinear', input: ['int8.codes', scale.name], output: ['int8.weight'] };
  graph.node = [quantize, restore, ...(graph.node ?? [])];
  writeFileSync(path, encode('ModelProto', model));
}

test('A graph in int8 refuses adapters in one sentence, opens without them, and merges none', async () => {
  const { unet: path, file, folder } = await unpack('sd15');
  writeLora(file('ink'), randomLora(path, 'unet', { only: ATTENTIONS }));
  quantizeOne(path);
  const { unet, adapters, session } = await openUnet(path, [{ name: 'ink', path: file('ink') }]);
  const [row] = await predict(unet, [rowOf(unet)]);
  await session.close();
  expect(row.every(Number.isFinite)).toBe(true);
  const problem =
    'ink.safetensors cannot be used with this version: its unet is in int8; use its float32 or float16 form.';
  expect(adapters.opened).toEqual([{ name: 'ink', problem }]);
  expect(unet.adapters).toEqual([]);
  await expect(checkAdapter(file('ink'), { folder, name: 'sd15' }, [])).rejects.toThrow(problem);
  const ink = { ...readAdapter(file('ink'), 2), name: 'ink', scale: 1 };
  expect(() => planMerge([keptGraph(folder, 'unet/model.onnx')], [ink], 'sd15')).toThrow(problem);
  ink.close();
});

test('An adapter of enormous values takes neither the other adapters nor the rows without it along', async () => {
  const { unet: path, file } = await unpack('sd15');
  const layers = randomLora(path, 'unet', { only: /attn1\.to_q/ });
  writeLora(file('good'), layers);
  writeLora(
    file('strong'),
    layers.map((each) => ({ ...each, alpha: 3e38, up: each.up.map((value) => value * 1000) })),
  );
  // What it makes of large values is more than a float32 holds; times a scale of 0 that would be no number.
  writeLora(
    file('steep'),
    layers.map((each) => ({ ...each, down: each.down.map((value) => value * 1e38) })),
  );
  const names = ['strong', 'steep', 'good'];
  const { unet, adapters, session } = await openUnet(
    path,
    names.map((name) => ({ name, path: file(name) })),
  );
  const { unet: plain, session: stock } = await openUnet(path, [{ name: 'good', path: file('good') }]);
  const uses: UnetRow['adapters'][] = [[], [{ name: 'good', scale: 1 }]];
  const rows = await predict(
    unet,
    uses.map((each) => rowOf(unet, 0, each)),
  );
  const expected = await predict(
    plain,
    uses.map((each) => rowOf(plain, 0, each)),
  );
  await session.close();
  await stock.close();
  for (const [i, row] of rows.entries()) expect(distance(row, expected[i])).toBeLessThan(1e-5);
  expect(adapters.opened).toEqual([
    {
      name: 'strong',
      problem: expect.stringMatching(/^strong\.safetensors has values in \S+ that are too large/),
    },
    { name: 'steep' },
    { name: 'good' },
  ]);
});

test('A graph in float16 gets an adapter into its weights, and takes none whose values it cannot hold', {
  tags: ['long'],
}, async () => {
  const { unet: path, file, folder } = await unpack('sd15-fp16');
  const layers = randomLora(path, 'unet', { only: ATTENTIONS });
  writeLora(file('ink'), layers);
  const strong = layers.map((each) => ({ ...each, up: each.up.map((value) => value * 1e7) }));
  writeLora(file('strong'), strong);
  const { adapters, session } = await openUnet(path, [{ name: 'strong', path: file('strong') }]);
  await session.close();
  const [{ problem }] = adapters.opened;
  expect(problem).toMatch(
    /^strong\.safetensors has values in \S+ that are too large for the float16 of this/,
  );
  const merge = async (name: string, made: string) => {
    const adapter = { ...readAdapter(file(name), 2), name, scale: 0.7 };
    const plan = planMerge([keptGraph(folder, 'unet/model.onnx')], [adapter], 'sd15');
    const base = { folder, name: 'sd15@1', task: 'diffusion' as const };
    await importFolder({ base, plan, valuesOf: plan.valuesOf, folder: made, onProgress: () => {} });
    adapter.close();
  };
  const refused = merge('strong', await tempFolder('refused'));
  await expect(refused).rejects.toThrow('that are too large for the float16 of the model');
  const made = await tempFolder('merged');
  await merge('ink', made);
  const wanted = join(folder, 'unet/wanted.onnx');
  writeMerged(path, wanted, [{ layers, scale: 0.7 }]);
  const rows: Float32Array[] = [];
  for (const each of [join(made, 'unet/model.onnx'), wanted, path]) {
    const { unet, session: own } = await openUnet(each);
    rows.push(...(await predict(unet, [rowOf(unet)])));
    await own.close();
  }
  expect(distance(rows[0], rows[1])).toBeLessThan(5e-3);
  expect(distance(rows[2], rows[1])).toBeGreaterThan(0.01);
});

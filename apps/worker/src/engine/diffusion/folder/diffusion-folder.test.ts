import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TinyDiffusionOptions, writeTinyDiffusion } from '@lehr/demo-models';
import { decode, EXTERNAL, encode, type ModelProto } from '@lehr/onnx-model';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { onnxRuntime } from '../../runtime/onnx.ts';
import type { InferenceRuntime, LoadOptions } from '../../runtime/runtime.ts';
import { createSimulatedRuntime } from '../../runtime/simulated.ts';
import { openDiffusionModel } from './diffusion-folder.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lehr-folder-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const CPU = { providers: ['cpu'], threads: 1 } as const;
const open = (runtime: InferenceRuntime = onnxRuntime) => openDiffusionModel(folder, runtime, CPU);

function editJson(name: string, change: (json: Record<string, unknown>) => void): void {
  const path = join(folder, name);
  const json = JSON.parse(readFileSync(path, 'utf8'));
  change(json);
  writeFileSync(path, JSON.stringify(json));
}

function editUnet(change: (model: ModelProto) => void): void {
  const path = join(folder, 'unet/model.onnx');
  const model = decode('ModelProto', readFileSync(path));
  change(model);
  writeFileSync(path, encode('ModelProto', model));
}

function fixLatentSize(graph: 'unet' | 'vae_decoder', height: number, width: number): void {
  const path = join(folder, graph, 'model.onnx');
  const model = decode('ModelProto', readFileSync(path));
  const dims = model.graph?.input?.[0].type?.tensorType?.shape?.dim ?? [];
  dims.splice(2, 2, { dimValue: height }, { dimValue: width });
  writeFileSync(path, encode('ModelProto', model));
}

/** A runtime that counts its open sessions. */
function counting(runtime: InferenceRuntime) {
  let openSessions = 0;
  const counted: InferenceRuntime = {
    async load(graph, options) {
      const session = await runtime.load(graph, options);
      openSessions += 1;
      let isOpen = true;
      return {
        provider: session.provider,
        placement: session.placement,
        refusals: session.refusals,
        inputs: session.inputs,
        outputs: session.outputs,
        run: (feeds, outputs) => session.run(feeds, outputs),
        close: async () => {
          if (isOpen) openSessions -= 1;
          isOpen = false;
          await session.close();
        },
      };
    },
  };
  return { runtime: counted, open: () => openSessions };
}

const variants: readonly TinyDiffusionOptions[] = [
  {},
  { dtype: 'float16', timestepType: 'float16', tokenIdType: 'int32' },
  { opset: 11, timestepType: 'float32', externalData: true, latentChannels: 16, sampleSize: 32 },
  { opset: 17, timestepDims: ['steps'] },
];

test('The threads of a diffusion model leave the cores to other processes between two runs', async () => {
  await writeTinyDiffusion(folder);
  const loaded: LoadOptions[] = [];
  const recording: InferenceRuntime = {
    ...onnxRuntime,
    load: (graph, options) => {
      loaded.push(options);
      return onnxRuntime.load(graph, options);
    },
  };
  const model = await open(recording);
  onTestFinished(() => model.close());
  expect(loaded).not.toHaveLength(0);
  for (const options of loaded) expect(options).toMatchObject({ spin: false, ...CPU });
});

test('A model whose file is overwritten while it is opened is closed and not used', async () => {
  await writeTinyDiffusion(folder);
  const { runtime, open: openSessions } = counting(onnxRuntime);
  const path = join(folder, 'unet/model.onnx');
  const overwriting: InferenceRuntime = {
    async load(graph, options) {
      const session = await runtime.load(graph, options);
      if (graph.path === path) writeFileSync(path, readFileSync(path));
      return session;
    },
  };
  await expect(open(overwriting)).rejects.toMatchObject({
    code: 'model-unavailable',
    message: expect.stringContaining(`${path} was changed while the model was opened`),
  });
  expect(openSessions()).toBe(0);
});

test.each(variants)('A folder opens and its graphs run from prompt to pixels: %o', async (options) => {
  await writeTinyDiffusion(folder, options);
  const model = await open();
  expect(model.batching).toEqual({ mode: 'rows' });
  expect(model.unetProvider).toBe('cpu');
  expect(model.graphs).toMatchObject([
    { graph: 'text_encoder', provider: 'cpu' },
    { graph: 'unet', provider: 'cpu' },
    { graph: 'vae_decoder', provider: 'cpu' },
  ]);
  const side = 8 * (options.sampleSize ?? 64);
  expect(model.nativeSize).toEqual({ height: side, width: side });
  expect(model.schedulerConfig.predictionType).toBe('epsilon');

  const embeddings = await model.textEncoder.encode(['a red cat', '']);
  const latent = new Float32Array(model.unet.latentChannels * 4 * 4).fill(0.5);
  const rows = embeddings.map(({ hidden }, i) => ({
    latent,
    promptEmbedding: hidden,
    timestep: 900 - 400 * i,
  }));
  const { rows: predictions, badRows } = await model.unet.predict(rows, { height: 4, width: 4 });
  expect(badRows).toEqual([]);
  expect(predictions[0]).not.toEqual(predictions[1]);
  expect(await model.vae.decode(predictions[0], { height: 32, width: 32 })).toHaveLength(32 * 32 * 3);
  await model.close();
  await expect(model.textEncoder.encode(['something new'])).rejects.toThrow('was closed');
});

test('A folder without configs beside the graphs opens too, as older exporters write it', async () => {
  await writeTinyDiffusion(folder);
  for (const graph of ['text_encoder', 'unet', 'vae_decoder']) rmSync(join(folder, graph, 'config.json'));
  const model = await open();
  expect(model.vae.scaleFactor).toBe(8);
  expect(model.unet.embeddingDim).toBe(32);
  expect(model.nativeSize).toBeUndefined();
});

test('A folder opens whose name has spaces, signs and letters of other scripts, with its weights in files beside the graphs', async () => {
  const parent = folder;
  onTestFinished(() => rmSync(parent, { recursive: true }));
  folder = join(parent, 'Mödel #1 (50%20) ’模型’');
  await writeTinyDiffusion(folder, { externalData: true });
  const model = await open();
  expect(model.batching).toEqual({ mode: 'rows' });
  const [{ hidden }] = await model.textEncoder.encode(['']);
  const row = { latent: new Float32Array(64).fill(0.5), promptEmbedding: hidden, timestep: 500 };
  expect((await model.unet.predict([row], { height: 4, width: 4 })).badRows).toEqual([]);
});

test('Components that an index names and Lehr does not run may be there or missing', async () => {
  await writeTinyDiffusion(folder);
  editJson('model_index.json', (json) => {
    json.safety_checker = ['stable_diffusion', 'StableDiffusionSafetyChecker'];
    json.feature_extractor = ['transformers', 'CLIPImageProcessor'];
    json.vae_encoder = ['diffusers', 'OnnxRuntimeModel'];
  });
  mkdirSync(join(folder, 'safety_checker'));
  writeFileSync(join(folder, 'safety_checker/model.onnx'), 'not a graph');
  const model = await open();
  expect(model.graphs.map(({ graph }) => graph)).toEqual(['text_encoder', 'unet', 'vae_decoder']);
});

test('A graph that cannot be rewired runs aligned, with the reason', async () => {
  await writeTinyDiffusion(folder, { timestepType: 'float32' });
  editUnet(({ graph }) => {
    graph?.node?.unshift({ opType: 'Neg', name: '/Odd', input: ['timestep'], output: ['odd'] });
  });
  const model = await open();
  expect(model.batching).toEqual({
    mode: 'aligned',
    reason: expect.stringContaining('goes into the Neg /Odd'),
  });
  const [{ hidden }] = await model.textEncoder.encode(['']);
  const row = { latent: new Float32Array(64), promptEmbedding: hidden, timestep: 3.5 };
  expect((await model.unet.predict([row, row], { height: 4, width: 4 })).rows).toHaveLength(2);
});

test('A graph that mixes rows up fails the check and runs aligned', async () => {
  await writeTinyDiffusion(folder);
  // Uses the timestep of the first row for all rows: shapes fit, results do not.
  editUnet(({ graph }) => {
    const nodes = graph?.node ?? [];
    const at = nodes.findIndex(({ name }) => name === '/Expand');
    const [lifted] = nodes[at].input ?? [];
    nodes[at].input?.splice(0, 1, 'first');
    const zero = { dims: [1], dataType: 7, int64Data: [0] };
    nodes.splice(
      at,
      0,
      { opType: 'Constant', output: ['zero'], attribute: [{ name: 'value', type: 4, t: zero }] },
      { opType: 'Gather', input: [lifted, 'zero'], output: ['first'] },
    );
  });
  const model = await open();
  expect(model.batching).toEqual({ mode: 'aligned', reason: expect.stringContaining('disturb each other') });
});

test('The simulated device opens the same folder', async () => {
  await writeTinyDiffusion(folder);
  const model = await open(createSimulatedRuntime({ pause: () => {} }));
  expect(model.batching).toEqual({ mode: 'rows' });
  expect(model.unetProvider).toBe('simulated');
  expect(model.vae.scaleFactor).toBe(8);
});

const broken: readonly [string, () => void, string | RegExp][] = [
  ['no index', () => rmSync(join(folder, 'model_index.json')), 'model_index.json could not be read'],
  [
    'an index that is no JSON',
    () => writeFileSync(join(folder, 'model_index.json'), '{'),
    'model_index.json is not JSON',
  ],
  [
    'another kind of model',
    () =>
      editJson('model_index.json', (json) => {
        json._class_name = 'StableDiffusion3Pipeline';
        json.transformer = ['diffusers', 'SD3Transformer2DModel'];
      }),
    'StableDiffusion3Pipeline with a "transformer": it denoises with a transformer',
  ],
  [
    'an SDXL refiner',
    () =>
      editJson('model_index.json', (json) => {
        json._class_name = 'StableDiffusionXLImg2ImgPipeline';
        json.text_encoder = [null, null];
        json.text_encoder_2 = ['transformers', 'CLIPTextModelWithProjection'];
      }),
    'has no text_encoder_2/model.onnx, vae_encoder/model.onnx',
  ],
  [
    'half of an SDXL model',
    () =>
      editJson('model_index.json', (json) => {
        json.text_encoder_2 = ['transformers', 'CLIPTextModelWithProjection'];
      }),
    'has no text_encoder_2/model.onnx. Export the model again: lehr models export',
  ],
  [
    'a model for torch',
    () => {
      rmSync(join(folder, 'unet/model.onnx'));
      writeFileSync(join(folder, 'unet/diffusion_pytorch_model.safetensors'), '');
    },
    'has no unet/model.onnx. It holds weights for torch; export it first: lehr models export',
  ],
  [
    'graphs with the name of a variant',
    () => {
      for (const graph of ['text_encoder', 'unet', 'vae_decoder'])
        renameSync(join(folder, graph, 'model.onnx'), join(folder, graph, 'model.fp16.onnx'));
    },
    /It holds the variant "fp16"; give its graphs the plain names: lehr models pull ".*" --variant fp16\.$/,
  ],
  [
    'a wrong field',
    () =>
      editJson('vae_decoder/config.json', (json) => {
        json.scaling_factor = 'large';
      }),
    /vae_decoder\/config\.json.*scaling_factor/,
  ],
  [
    'a config that contradicts its graph',
    () =>
      editJson('unet/config.json', (json) => {
        json.in_channels = 9;
      }),
    'has 4 along axis 1, but its config.json says 9',
  ],
  ['no graph', () => rmSync(join(folder, 'vae_decoder/model.onnx')), 'has no vae_decoder/model.onnx'],
  [
    'a truncated graph',
    () => {
      const path = join(folder, 'unet/model.onnx');
      writeFileSync(path, readFileSync(path).subarray(0, 20_000));
    },
    'unet/model.onnx is not a readable ONNX file',
  ],
  [
    'graphs for different picture sizes',
    () => {
      fixLatentSize('unet', 64, 64);
      fixLatentSize('vae_decoder', 64, 96);
    },
    'exported for different picture sizes: the unet for 512x512, the vae_decoder for 768x512. Export them for one size',
  ],
  [
    'no noise schedule',
    () => rmSync(join(folder, 'scheduler/scheduler_config.json')),
    'scheduler_config.json',
  ],
  [
    'weights outside the folder',
    () =>
      editUnet(({ graph }) => {
        const weight = graph?.initializer?.[0];
        if (weight) Object.assign(weight, { dataLocation: EXTERNAL, rawData: new Uint8Array(0) });
        weight?.externalData?.push({ key: 'location', value: '../text_encoder/model.onnx' });
      }),
    'outside its folder',
  ],
];

test.each(broken)(
  'A broken folder is refused with the reason, and no session stays loaded: %s',
  async (_name, damage, message) => {
    await writeTinyDiffusion(folder);
    damage();
    const { runtime, open: openSessions } = counting(onnxRuntime);
    const error = await open(runtime).catch((reason) => reason);
    expect(error).toMatchObject({ code: 'model-unavailable' });
    expect(error.message).toMatch(message);
    expect(openSessions()).toBe(0);
  },
);

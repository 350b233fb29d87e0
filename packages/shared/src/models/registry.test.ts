import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readFamily } from '../config/models-watch.ts';
import { type DiffusionModelEntry, parseRegistry } from './registry.ts';

const entryOf = (fields: string, folder?: string): DiffusionModelEntry =>
  parseRegistry(
    `models: [{ name: m, task: diffusion, versions: [{ version: "1", path: m }], ${fields} }]`,
    (path) => (folder === undefined ? undefined : readFamily(join(folder, path))),
  ).resolve('diffusion', 'm', 0).model;

/** A folder with the model `m`, of which only the configs are there. */
function folderOf(files: Record<string, object>): string {
  const folder = mkdtempSync(join(tmpdir(), 'lehr-registry-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [name, content] of Object.entries(files)) {
    const path = join(folder, 'm', name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, JSON.stringify(content));
  }
  return folder;
}

const SD = { _class_name: 'StableDiffusionPipeline' };
const XL = { ...SD, text_encoder_2: ['transformers', 'CLIPTextModelWithProjection'] };
const REFINER = { ...XL, text_encoder: [null, null], requires_aesthetics_score: true };
const TRAILING = { timestep_spacing: 'trailing', prediction_type: 'epsilon' };
const EULER = { _class_name: 'EulerDiscreteScheduler', ...TRAILING };
const ANCESTRAL = { _class_name: 'EulerAncestralDiscreteScheduler', ...TRAILING };
const LCM = { _class_name: 'LCMScheduler' };

/** The scheduler and the UNet's size of the published models. */
test.each([
  ['SD 1.5', SD, { _class_name: 'PNDMScheduler' }, { sample_size: 64 }, 'sd', '512 20 7.5 euler'],
  ['SD 2.1', SD, { _class_name: 'DDIMScheduler' }, { sample_size: 96 }, 'sd', '768 20 7.5 euler'],
  ['SD Turbo', SD, EULER, { sample_size: 64 }, 'sd-turbo', '512 1 0 euler'],
  ['LCM', SD, LCM, { sample_size: 64, time_cond_proj_dim: 256 }, 'lcm', '512 4 8.5 lcm'],
  ['a merged LCM LoRA', SD, LCM, { sample_size: 64, time_cond_proj_dim: null }, 'lcm', '512 4 1 lcm'],
  ['SDXL', XL, { ...EULER, timestep_spacing: 'leading' }, { sample_size: 128 }, 'sdxl', '1024 30 5 euler'],
  ['SDXL Turbo', XL, ANCESTRAL, { sample_size: 64 }, 'sdxl-turbo', '512 1 0 euler_a'],
  [
    'the refiner',
    REFINER,
    { ...EULER, timestep_spacing: 'leading' },
    { sample_size: 128 },
    'sdxl-refiner',
    '1024 30 5 euler',
  ],
  [
    'SD 1.5 for inpainting',
    SD,
    { _class_name: 'PNDMScheduler' },
    { sample_size: 64, in_channels: 9 },
    'sd-inpaint',
    '512 20 7.5 euler',
  ],
  ['SDXL for inpainting', XL, EULER, { sample_size: 128, in_channels: 9 }, 'sdxl-inpaint', '1024 30 5 euler'],
  ['LCM SDXL', XL, LCM, { sample_size: 128, time_cond_proj_dim: 256 }, 'sdxl-lcm', '1024 4 8.5 lcm'],
])(
  'The folder of %s says its family, and with it the defaults',
  (_name, index, scheduler, unet, family, text) => {
    const entry = entryOf(
      '',
      folderOf({
        'model_index.json': index,
        'scheduler/scheduler_config.json': scheduler,
        'unet/config.json': unet,
      }),
    );
    const { width, height, steps, guidance, sampler } = entry.defaults;
    expect(entry.family).toBe(family);
    expect(`${width} ${steps} ${guidance} ${sampler}`).toBe(text);
    expect(height).toBe(width);
    expect(entry.samplers).toContain(sampler);
  },
);

test('A UNet that takes no guidance scale has guidance in rows, also in an LCM', () => {
  const merged = { 'model_index.json': SD, 'scheduler/scheduler_config.json': LCM, 'unet/config.json': {} };
  expect(entryOf('', folderOf(merged)).guidance).toBe('rows');
  const distilled = { ...merged, 'unet/config.json': { time_cond_proj_dim: 256 } };
  expect(entryOf('', folderOf(distilled)).guidance).toBe('embedded');
});

test('What models.yaml says counts more than the folder, and the rest comes from the family', () => {
  const folder = folderOf({ 'model_index.json': SD, 'unet/config.json': { sample_size: 96 } });
  const entry = entryOf('family: sdxl-turbo, defaults: { steps: 4 }, limits: { max_steps: 8 }', folder);
  expect(entry.family).toBe('sdxl-turbo');
  const reading = { prompt_syntax: 'plain', clip_skip: 2 };
  expect(entry.defaults).toEqual({
    ...reading,
    width: 512,
    height: 512,
    steps: 4,
    guidance: 0,
    sampler: 'euler_a',
  });
  expect(entry.limits).toMatchObject({ max_steps: 8, max_size: 2048, max_pixels: 1024 * 1024 });
});

test('Without the folder, as an API may run, a model is of the family that models.yaml names, or a Stable Diffusion', () => {
  expect(entryOf('').family).toBe('sd');
  expect(entryOf('').samplers).toContain('pndm');
  expect(entryOf('family: lcm')).toMatchObject({ guidance: 'embedded', samplers: ['lcm'] });
});

test('The default sampler is one that models.yaml offers', () => {
  expect(entryOf('samplers: [ddim, pndm]').defaults.sampler).toBe('ddim');
});

test('A model takes pictures when one of its versions has a VAE encoder; what cannot be read here is left open', () => {
  const folder = folderOf({ 'model_index.json': SD });
  const encoder = join(folder, 'with/vae_encoder/model.onnx');
  mkdirSync(dirname(encoder), { recursive: true });
  writeFileSync(encoder, '');
  writeFileSync(join(folder, 'with/model_index.json'), JSON.stringify(SD));
  const takes = (...paths: readonly string[]): boolean | undefined => {
    const versions = paths.map((path, i) => `{ version: "${i}", path: ${path} }`);
    return parseRegistry(
      `models: [{ name: m, task: diffusion, versions: [${versions.join(', ')}] }]`,
      (path) => readFamily(join(folder, path)),
    ).resolve('diffusion', 'm', 0).model.takesPictures;
  };
  expect(takes('m')).toBe(false);
  expect(takes('m', 'with')).toBe(true);
  expect(takes('elsewhere')).toBeUndefined();
  expect(takes('m', 'elsewhere')).toBeUndefined();
});

test('Widths and heights are multiples of what the halvings of the UNet need, unless models.yaml says otherwise', () => {
  const stepOf = (fields: string, unet: object, vae: object = {}): number =>
    entryOf(
      fields,
      folderOf({ 'model_index.json': SD, 'unet/config.json': unet, 'vae_decoder/config.json': vae }),
    ).limits.size_step;
  const sd = { block_out_channels: [320, 640, 1280, 1280] };
  const xl = { block_out_channels: [320, 640, 1280] };
  expect(stepOf('family: sd', sd)).toBe(64);
  expect(stepOf('family: sdxl', xl)).toBe(32);
  expect(stepOf('family: sd', sd, { block_out_channels: [32, 32] })).toBe(16);
  expect(stepOf('limits: { size_step: 8 }', sd)).toBe(8);
  expect(stepOf('family: sd', {})).toBe(8);
  expect(entryOf('family: sd').limits.size_step).toBe(8);
});

const TWO = (first: string, second: string): string =>
  `models:
  - { name: one, task: diffusion, default: true, versions: [{ version: "1", path: a }]${first && `, ${first}`} }
  - { name: two, task: diffusion, versions: [{ version: "2", path: b }]${second && `, ${second}`} }`;

test('An alias names its model, with and without a version, and the job gets the name of the model', () => {
  const registry = parseRegistry(TWO('aliases: [dall-e-2]', 'aliases: [dall-e-3, gpt-image-1]'));
  for (const wanted of ['dall-e-3', 'gpt-image-1', 'dall-e-3@2', 'two']) {
    expect(registry.resolve('diffusion', wanted, 0).ref, wanted).toEqual({ name: 'two', version: '2' });
    expect(registry.named(wanted)?.name, wanted).toBe('two');
  }
  expect(() => registry.resolve('whisper', 'dall-e-3', 0)).toThrow('There is no model "dall-e-3"');
});

test.each([
  ['aliases: [two]', '', 'models.0.aliases.0: "two" is also the name of models.1'],
  ['', 'aliases: [one]', 'models.1.aliases.0: "one" is also the name of models.0'],
  [
    'aliases: [dall-e-3]',
    'aliases: [other, dall-e-3]',
    'models.1.aliases.1: "dall-e-3" is also the alias of one',
  ],
  ['aliases: [x, x]', '', 'models.0.aliases.1: "x" is also the alias of one'],
  ['aliases: [DALL-E]', '', 'models.0.aliases.0: must match'],
])('Names and aliases that clash are a fault of models.yaml: %s, %s', (first, second, fault) => {
  expect(() => parseRegistry(TWO(first, second))).toThrow(fault);
});

test.each(['none', 'm', 'depth'])(
  'An upscaler that makes no pictures is a fault of models.yaml: %s',
  (name) => {
    const text = `models:
    - { name: m, task: diffusion, upscalers: [larger, ${name}], versions: [{ version: "1", path: m }] }
    - { name: larger, task: transform, result: picture, versions: [{ version: "1", path: l }] }
    - { name: depth, task: transform, result: mask, versions: [{ version: "1", path: d }] }`;
    expect(() => parseRegistry(text)).toThrow(
      `models.0.upscalers.1: "${name}" is no model here of the task transform with the result picture`,
    );
  },
);

test.each([
  ['{ name: a, path: x }, { name: a, path: y }', 'models.0.controls.1.name: "a" is there twice'],
  ['{ name: a }', 'models.0.controls.0.path: is missing; or give a source'],
  ['{ name: a, path: x, revision: v1 }', 'models.0.controls.0.revision: needs a source'],
  ['{ name: a, source: nowhere }', 'models.0.controls.0.source: "nowhere" is not a source'],
  ['{ name: A, path: x }', 'models.0.controls.0.name: must match'],
  ['{ name: a, path: x, preprocess: depth }', 'models.0.controls.0.preprocess: "depth" is no model here'],
])('A ControlNet that cannot be is a fault of models.yaml: %s', (controls, fault) => {
  const text = `models: [{ name: m, task: diffusion, versions: [{ version: "1", path: m }], controls: [${controls}] }]`;
  expect(() => parseRegistry(text)).toThrow(fault);
});

const transformOf = (fields: string) =>
  parseRegistry(
    `models: [{ name: m, task: transform, versions: [{ version: "1", path: m }], ${fields} }]`,
  ).resolve('transform', 'm', 0).model;

test('A model that transforms pictures takes four million pixels where it is run in tiles, and sixteen where it is run once', () => {
  expect(transformOf('result: picture, scale: 4')).toMatchObject({
    scale: 4,
    limits: { max_pixels: 2 ** 22 },
  });
  expect(transformOf('result: mask')).toMatchObject({ scale: 1, limits: { max_pixels: 2 ** 24 } });
  expect(transformOf('result: class, limits: { max_pixels: 9 }').limits).toEqual({ max_pixels: 9 });
});

test.each([
  ['scale: 2', 'models.0.result: Invalid option'],
  ['result: mask, scale: 2', 'models.0.scale: is for models that give a picture; this model gives: mask'],
  ['result: picture, scale: 9', 'models.0.scale: Too big'],
  ['result: picture, labels: [cat]', 'models.0.labels: are for models that give a class'],
  ['result: class, input: { mean: [1, 2] }', 'models.0.input.mean: must be one number, or three'],
  ['result: class, input: { std: [0] }', 'models.0.input.std: must be above 0'],
  ['result: class, input: { colour: rgb }', 'models.0.input: Unrecognized key'],
])('What a model cannot be is a fault of models.yaml: %s', (fields, fault) => {
  expect(() => transformOf(fields)).toThrow(fault);
});

test('A model lists adapters, each with a name, a file, and what requests need not say of it', () => {
  const file = 'path: lora/ink.safetensors';
  expect(entryOf(`adapters: [{ name: ink, ${file} }]`).adapters).toEqual([
    { name: 'ink', path: 'lora/ink.safetensors', trigger: [], scale: 1 },
  ]);
  const full =
    'name: ink, source: hf://acme/loras/ink.safetensors, revision: abc, trigger: [ink drawing], scale: 0.7, description: Ink.';
  expect(entryOf(`adapters: [{ ${full} }]`).adapters).toMatchObject([
    { source: 'hf://acme/loras/ink.safetensors', revision: 'abc', trigger: ['ink drawing'], scale: 0.7 },
  ]);
  for (const source of ['s3://loras/ink.safetensors', 'https://host.example/ink.safetensors']) {
    expect(entryOf(`adapters: [{ name: ink, source: "${source}" }]`).adapters[0].source).toBe(source);
  }
});

test.each([
  ['name: ink', /adapters\.0\.path: is missing; or give a source/],
  ['name: ink, path: ink.ckpt', /adapters\.0\.path: must be a \.safetensors file/],
  ['name: ink, path: a.safetensors, source: hf://a/b/c.safetensors', /adapters\.0\.source: cannot be used/],
  ['name: ink, path: a.safetensors, revision: main', /adapters\.0\.revision: needs a source/],
  ['name: ink, source: hf://acme/loras', /adapters\.0\.source: /],
  ['name: ink, source: hf://acme/loras/ink.pt', /adapters\.0\.source: .*\.safetensors/],
  ['name: Ink, path: a.safetensors', /adapters\.0\.name: must match/],
  ['name: ink, path: a.safetensors, scale: 11', /adapters\.0\.scale: /],
  ['name: a, path: a.safetensors }, { name: a, path: b.safetensors', /adapters\.1\.name: "a" is there twice/],
])('An adapter is refused in words: %s', (fields, message) => {
  expect(() => entryOf(`adapters: [{ ${fields} }]`)).toThrow(message);
});

test('A model has at most 64 adapters', () => {
  const all = Array.from({ length: 65 }, (_, i) => `{ name: a${i}, path: a.safetensors }`);
  expect(entryOf(`adapters: [${all.slice(1).join(', ')}]`).adapters).toHaveLength(64);
  expect(() => entryOf(`adapters: [${all.join(', ')}]`)).toThrow(/adapters: /);
});

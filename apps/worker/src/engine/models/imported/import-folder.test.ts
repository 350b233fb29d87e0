import { existsSync, statSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { safetensorsHeader } from '@lehr/onnx-model';
import { expect, test } from 'vitest';
import {
  casesOf,
  denoise,
  expectedLatent,
  relativeDistance,
  sampleOf,
  unpackFixture,
} from '../../../../../../test/support/diffusion-fixtures.ts';
import { imported } from '../../../../../../test/support/imported-model.ts';
import { tempFolder } from '../../../../../../test/support/tiny-models.ts';
import { openDiffusionModel } from '../../diffusion/folder/diffusion-folder.ts';
import { onnxRuntime } from '../../runtime/onnx.ts';
import { openWeightsFile } from '../weights/weights-file.ts';
import { filesOfModel } from './import-folder.ts';

/** The fixture of a base, unpacked, and a file of other weights beside it. */
async function open(base: string, weights = 'sd15-weights') {
  const [folder, files] = [await tempFolder('base'), await tempFolder('weights')];
  unpackFixture(base, folder);
  unpackFixture(weights, files);
  return { folder, file: (name = 'whole') => join(files, `${name}.safetensors`) };
}

/** How far the picture is from the one that diffusers draws with the weights of the file. */
async function distance(folder: string, weights: string): Promise<number> {
  const model = await openDiffusionModel(folder, onnxRuntime, { providers: ['cpu'] });
  const [each] = casesOf(weights);
  const sample = await sampleOf(model, each);
  await denoise(model, [sample]);
  await model.close();
  return relativeDistance(sample.denoising.latent, expectedLatent(weights, each));
}

const DRAWS = 'An export like %s with the weights of a file draws what diffusers draws with that file';

type Export = readonly [base: string, weights: string, tolerance: number];

test.each<Export>([
  ['sd15', 'sd15-weights', 1e-4],
  ['sd15-dynamo-21-rows', 'sd15-weights', 1e-4],
  // As far as the graph in half precision is from diffusers with its own weights.
  ['sd15-fp16', 'sd15-weights', 5e-3],
  ['sd21', 'sd21-weights', 1e-4],
])(DRAWS, { timeout: 60_000 }, (...each) => drawsAsDiffusers(...each));
test.each<Export>([
  ['sd15-torchscript-14', 'sd15-weights', 1e-4],
  ['sd15-torchscript-17', 'sd15-weights', 1e-4],
  ['sd15-dynamo-18', 'sd15-weights', 1e-4],
  ['sd15-fp16-converted', 'sd15-weights', 5e-3],
  ['sdxl', 'sdxl-weights', 1e-4],
])(DRAWS, { timeout: 60_000, tags: ['long'] }, (...each) => drawsAsDiffusers(...each));

async function drawsAsDiffusers(...[base, weights, tolerance]: Export): Promise<void> {
  const { folder, file } = await open(base, weights);
  const made = await imported(folder, file());
  expect(await distance(made.folder, weights)).toBeLessThan(tolerance);
  expect(made.graphs.map((each) => each.weights)).toEqual(made.graphs.map(() => 'written'));
  // No file of weights of the base, of which a few constants would be left.
  expect(
    (await filesOfModel(made.folder)).filter(
      (path) => /data$/.test(path) && !path.endsWith('/model.lehr-import.onnx_data'),
    ),
  ).toEqual([]);
  // This base has no encoder of pictures.
  expect(
    made.plan.unused.filter((name) => !/^first_stage_model\.(?:encoder|quant_conv)\./.test(name)),
  ).toEqual([]);
}

test('A UNet in the layout of diffusers becomes the same graph as that of the whole file; all else is shared with the base', async () => {
  const { folder, file } = await open('sd15');
  const [whole, unet] = [await imported(folder, file()), await imported(folder, file('unet'))];
  expect(unet.graphs.map(({ graph, weights }) => [graph, weights])).toEqual([
    ['text_encoder/model.onnx', 'kept'],
    ['unet/model.onnx', 'written'],
    ['vae_decoder/model.onnx', 'kept'],
  ]);
  const again = await imported(whole.folder, file('unet'));
  expect(await distance(again.folder, 'sd15-weights')).toBeLessThan(1e-4);
  expect(again.graphs[1].weights).toBe('equal');
  const inode = (at: string, path: string) => statSync(join(at, path)).ino;
  for (const path of ['model_index.json', 'text_encoder/model.onnx', 'vae_decoder/model.onnx'])
    expect(inode(unet.folder, path)).toBe(inode(folder, path));
  for (const path of await readdir(join(whole.folder, 'unet')))
    expect(inode(again.folder, join('unet', path))).toBe(inode(whole.folder, join('unet', path)));
});

test('Weights of another architecture are refused with the tensor that does not fit, and nothing is written', async () => {
  const { folder, file } = await open('sd15', 'sdxl-weights');
  const before = await readdir(folder, { recursive: true });
  await expect(imported(folder, file())).rejects.toMatchObject({
    code: 'invalid-request',
    message: expect.stringMatching(
      /^whole\.safetensors is of another architecture: its \S+ is [\dx ]+, and \S+ of base@1 has [\dx ]+ there\.$/,
    ),
  });
  expect(await readdir(folder, { recursive: true })).toEqual(before);
  const small = await open('sdxl');
  await expect(imported(small.folder, small.file())).rejects.toThrow('is of another architecture');
});

/** A file of these tensors, each of zeros, or of the bytes that are given. */
async function weightsFile(
  tensors: readonly {
    readonly name: string;
    readonly dtype: 'F32' | 'F16' | 'F64';
    readonly shape: readonly number[];
  }[],
  fill = 0,
): Promise<string> {
  const path = join(await tempFolder('weights'), 'own.safetensors');
  const size = { F16: 2, F32: 4, F64: 8 };
  const bytes = tensors.map(({ dtype, shape }) => shape.reduce((a, b) => a * b, size[dtype]));
  const values = Buffer.alloc(
    bytes.reduce((a, b) => a + b, 0),
    fill,
  );
  await writeFile(path, Buffer.concat([safetensorsHeader(tensors), values]));
  return path;
}

test.each<[what: string, file: () => Promise<string>, message: RegExp]>([
  [
    'no weight of the model',
    () => weightsFile([{ name: 'x', dtype: 'F32', shape: [1] }]),
    /has no weight that base@1 has; it begins with "x"/,
  ],
  ['nothing at all', () => weightsFile([]), /has no weight that base@1 has; it begins with nothing/],
  [
    'an adapter',
    () =>
      weightsFile([
        { name: 'lora_unet_mid_block_attentions_0_proj_in.lora_up.weight', dtype: 'F16', shape: [8, 2] },
      ]),
    /is an adapter \(LoRA\)/,
  ],
  [
    'a part of a UNet',
    () =>
      weightsFile([
        { name: 'model.diffusion_model.input_blocks.0.0.weight', dtype: 'F16', shape: [8, 4, 3, 3] },
      ]),
    /is of another architecture or incomplete: it lacks \S+ and \d+ more, which unet\/model\.onnx of base@1 has/,
  ],
])('A file with %s is refused in one sentence', async (_, file, message) => {
  const { folder } = await open('sd15');
  await expect(imported(folder, await file())).rejects.toThrow(message);
});

test.each<[what: string, bytes: string, message: RegExp]>([
  [
    'a zip archive of torch',
    'PK\x03\x04archive/data.pkl',
    /is a pickle .* can run any program when it is opened/,
  ],
  ['an older pickle', '\x80\x02}q\x00(X\x0a\x00\x00\x00', /is a pickle/],
  ['a GGUF file', 'GGUF\x03\x00\x00\x00', /is a GGUF file/],
  ['a pointer of git-lfs', 'version https://git-lfs.github.com/spec/v1\n', /git lfs pull/],
  ['a page of the web', '<!DOCTYPE html><html>', /is a page of the web/],
  ['half a header', '\xff\x00\x00\x00\x00\x00\x00\x00{"a', /ends before its header does/],
])('%s is refused by what it is, whatever its name', async (_, bytes, message) => {
  const path = join(await tempFolder('weights'), 'model.safetensors');
  await writeFile(path, Buffer.from(bytes, 'latin1'));
  expect(() => openWeightsFile(path)).toThrow(message);
});

test('A file that was cut off is refused before anything is written', async () => {
  const { folder, file } = await open('sd15');
  await truncate(file(), statSync(file()).size - 100);
  await expect(imported(folder, file())).rejects.toThrow('whole.safetensors ends 100 bytes too early.');
});

test('Values that are no numbers are refused with the name of the weight', async () => {
  const { folder, file } = await open('sd15');
  const bytes = await readFile(file());
  // The last values of the file, as the exponents of infinity.
  bytes.fill(0x7c, bytes.length - 16);
  await writeFile(file(), bytes);
  await expect(imported(folder, file())).rejects.toThrow(
    /^whole\.safetensors has values in \S+ that are no numbers\.$/,
  );
});

test('A base that is removed while its weights are written ends the import with the missing file named', async () => {
  const { folder, file } = await open('sd15');
  let removed: Promise<void> | undefined;
  const remove = () => {
    removed ??= rm(folder, { recursive: true });
  };
  await expect(imported(folder, file(), { onProgress: remove })).rejects.toMatchObject({
    code: 'ENOENT',
    path: expect.stringContaining(folder),
  });
  // The import may end before all of it is removed.
  await removed;
  expect(existsSync(folder)).toBe(false);
});

test('A base of links, as the cache of a hub has them, is shared as files', async () => {
  const { folder, file } = await open('sd15');
  const blobs = join(folder, '.blobs');
  await mkdir(blobs);
  await rename(join(folder, 'vae_decoder/model.onnx'), join(blobs, 'a'));
  await symlink('../.blobs/a', join(folder, 'vae_decoder/model.onnx'));
  const made = await imported(folder, file('unet'));
  expect(statSync(join(made.folder, 'vae_decoder/model.onnx')).ino).toBe(statSync(join(blobs, 'a')).ino);
});

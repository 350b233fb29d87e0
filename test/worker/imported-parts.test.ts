/** One part of a model for pictures in a file of its own, and the file of an inpainting model, imported into exports of small pipelines. */
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openDiffusionModel } from '../../apps/worker/src/engine/diffusion/folder/diffusion-folder.ts';
import { namedWeights } from '../../apps/worker/src/engine/models/weights/layouts.ts';
import { readGraph } from '../../apps/worker/src/engine/runtime/external-data.ts';
import { onnxRuntime } from '../../apps/worker/src/engine/runtime/onnx.ts';
import { toNumber } from '../../packages/onnx-model/src/index.ts';
import { casesOf, denoise, expectedPicture, sampleOf, unpackFixture } from '../support/diffusion-fixtures.ts';
import { below, imported, type OwnTensor, readTensors, writeTensors } from '../support/imported-model.ts';
import { Random } from '../support/random.ts';
import { tempFolder } from '../support/tiny-models.ts';

/** A base, and the tensors of the file of a whole model. */
async function wholeOf(base: string, weights: string) {
  const [folder, files] = [await tempFolder('base'), await tempFolder('weights')];
  unpackFixture(base, folder);
  unpackFixture(weights, files);
  const path = join(files, 'whole.safetensors');
  return { folder, tensors: await readTensors(path) };
}

/** The same weights of one part in the layout of diffusers. */
function ofDiffusers(part: string, tensors: readonly OwnTensor[]): OwnTensor[] {
  const byName = new Map(tensors.map((tensor) => [tensor.name, tensor]));
  const places = new Map(tensors.map((tensor) => [tensor.name, { ...tensor, offset: 0, length: 0 }]));
  const shapes = { layersPerBlock: 2, vaeLevels: 4, hasSecondEncoder: true, textWidth: 8 };
  return namedWeights(places, shapes).weights.flatMap((weight) => {
    const { name, tensor, share = { index: 0, of: 1 }, isTransposed = false } = weight;
    const whole = byName.get(tensor.name);
    if (weight.part !== part || !whole) return [];
    const size = whole.bytes.length / share.of;
    const bytes = whole.bytes.subarray(size * share.index, size * (share.index + 1));
    const [rows, ...others] = whole.shape;
    const shape = [rows / share.of, ...others];
    // Attentions are linear layers there, not convolutions.
    const isLinear = /attentions\..*\.(?:to_\w+(?:\.0)?)\.weight$/.test(name) && part === 'vae';
    const plain = isLinear ? shape.filter((each) => each !== 1) : shape;
    return [
      isTransposed
        ? { ...whole, name, shape: plain.toReversed(), bytes: transposed(bytes, rows) }
        : { ...whole, name, shape: plain, bytes },
    ];
  });
}

/** Of values with 2 bytes. */
function transposed(bytes: Buffer, rows: number): Buffer {
  const out = Buffer.alloc(bytes.length);
  const columns = bytes.length / 2 / rows;
  for (let at = 0; at < rows * columns; at += 1) {
    const to = (at % columns) * rows + Math.floor(at / columns);
    out.writeUInt16LE(bytes.readUInt16LE(at * 2), to * 2);
  }
  return out;
}

const renamed = (tensors: readonly OwnTensor[], rename: (name: string) => string): OwnTensor[] =>
  tensors.map((tensor) => ({ ...tensor, name: rename(tensor.name) }));

/** The graphs of one part get the weights that the whole file has for them; all others stay. */
async function expectPart(
  { folder, tensors: whole }: Awaited<ReturnType<typeof wholeOf>>,
  part: RegExp,
  tensors: readonly OwnTensor[],
) {
  const made = await imported(folder, await writeTensors(tensors));
  const states = made.graphs.map(({ graph, weights }) => [graph, weights]);
  expect(states).toEqual(states.map(([graph]) => [graph, part.test(graph) ? 'written' : 'kept']));
  expect(states.some(([, weights]) => weights === 'written')).toBe(true);
  // The UNet is most of the file, and stays in any case.
  const others = whole.filter(({ name }) => !name.startsWith('model.diffusion_model.'));
  const again = await imported(made.folder, await writeTensors(others));
  expect(again.graphs.map(({ graph, weights }) => [graph, weights])).toEqual(
    states.map(([graph]) => [
      graph,
      part.test(graph) ? 'equal' : graph.startsWith('unet/') ? 'kept' : 'written',
    ]),
  );
  return made;
}

const OLD_ATTENTION = new Map([
  ['to_q', 'query'],
  ['to_k', 'key'],
  ['to_v', 'value'],
  ['to_out.0', 'proj_attn'],
]);

const VAES: readonly (readonly [layout: string, vae: (tensors: readonly OwnTensor[]) => OwnTensor[]])[] = [
  ['the first programs', (tensors) => below('first_stage_model.', tensors)],
  ['diffusers', (tensors) => ofDiffusers('vae', tensors)],
  [
    'diffusers in its first versions',
    (tensors) =>
      renamed(ofDiffusers('vae', tensors), (name) =>
        name.replace(
          /(?<=attentions\.0\.)(?:to_[qkv]|to_out\.0)(?=\.)/,
          (module) => OLD_ATTENTION.get(module) ?? '',
        ),
      ),
  ],
];

for (const [i, [layout, vae]] of VAES.entries())
  test(`A VAE alone in the layout of ${layout} decodes the picture of diffusers, and all other parts are those of the base`, {
    tags: i === 0 ? [] : ['long'],
  }, async () => {
    const at = await wholeOf('sd15-image', 'sd15-weights');
    const made = await expectPart(at, /^vae_/, vae(at.tensors));
    expect(made.plan.unused).toEqual([]);
    const model = await openDiffusionModel(made.folder, onnxRuntime, { providers: ['cpu'] });
    onTestFinished(() => model.close());
    const [each] = casesOf('sd15-weights');
    const { latent, pixels } = await expectedPicture('sd15-weights', each);
    const decoded = await model.vae.decode(latent, each);
    const distances = Array.from(decoded, (value, i) => Math.abs(value - pixels[i]));
    expect(Math.max(...distances)).toBeLessThanOrEqual(1);
  });

const SD1 = 'cond_stage_model.transformer.';
const SD2 = 'cond_stage_model.model.';
const [XL1, XL2] = ['conditioner.embedders.0.transformer.', 'conditioner.embedders.1.model.'];

type Encoder = readonly [
  what: string,
  base: string,
  part: RegExp,
  encoder: (tensors: readonly OwnTensor[]) => OwnTensor[],
];

const ENCODERS: readonly Encoder[] = [
  ['Stable Diffusion 1', 'sd15', /^text_encoder\//, (tensors) => below(SD1, tensors)],
  [
    'Stable Diffusion 1, without its outermost module',
    'sd15',
    /^text_encoder\//,
    (tensors) => below(`${SD1}text_model.`, tensors),
  ],
  [
    'Stable Diffusion 2 in the layout of OpenCLIP',
    'sd21',
    /^text_encoder\//,
    (tensors) => below(SD2, tensors),
  ],
  [
    'Stable Diffusion 2 in the layout of diffusers',
    'sd21',
    /^text_encoder\//,
    (tensors) => ofDiffusers('text_encoder', tensors),
  ],
  ['SDXL, the first one', 'sdxl', /^text_encoder\//, (tensors) => below(XL1, tensors)],
  [
    'SDXL, the second one in the layout of OpenCLIP',
    'sdxl',
    /^text_encoder_2\//,
    (tensors) => below(XL2, tensors),
  ],
  [
    'SDXL, the second one in the layout of diffusers',
    'sdxl',
    /^text_encoder_2\//,
    (tensors) => ofDiffusers('text_encoder_2', tensors),
  ],
];

const SHORT = ['Stable Diffusion 1', 'Stable Diffusion 2 in the layout of OpenCLIP', 'SDXL, the first one'];

for (const [what, base, part, encoder] of ENCODERS)
  test(`A text encoder alone (${what}) gets the weights of the whole file, and all other parts are those of the base`, {
    tags: SHORT.includes(what) ? [] : ['long'],
  }, async () => {
    const at = await wholeOf(base, `${base}-weights`);
    await expectPart(at, part, encoder(at.tensors));
  });

const CONV_IN = 'model.diffusion_model.input_blocks.0.0.weight';

/** The file of an inpainting model: its first convolution takes a mask and a picture besides. */
function withNineChannels(tensors: readonly OwnTensor[], seed: number): OwnTensor[] {
  const random = new Random(seed);
  return tensors.map((tensor) => {
    if (tensor.name !== CONV_IN) return tensor;
    const bytes = Buffer.alloc(8 * 9 * 9 * 2);
    // Halves between 1/8 and 1/4, of both signs; the four channels of the latent keep theirs.
    for (let at = 0; at < bytes.length; at += 2)
      bytes.writeUInt16LE(0x3000 | random.below(1024) | (random.chance(0.5) ? 0x8000 : 0), at);
    for (let out = 0; out < 8; out += 1)
      tensor.bytes.copy(bytes, out * 9 * 9 * 2, out * 4 * 9 * 2, (out + 1) * 4 * 9 * 2);
    return { ...tensor, shape: [8, 9, 3, 3], bytes };
  });
}

test('The file of an inpainting model is imported like an inpainting model, and draws with all nine channels', {
  tags: ['long'],
}, async () => {
  const [folder, files] = [await tempFolder('base'), await tempFolder('weights')];
  unpackFixture('sd-inpaint', folder);
  unpackFixture('sd15-weights', files);
  const four = await readTensors(join(files, 'whole.safetensors'));
  const [each] = casesOf('sd-inpaint');
  const drawn = async (seed: number) => {
    const tensors = withNineChannels(four, seed);
    const path = await writeTensors(tensors);
    const made = await imported(folder, path);
    expect(made.graphs.map(({ weights }) => weights)).toEqual(made.graphs.map(() => 'written'));
    expect(made.plan.unused).toEqual([]);
    expect(firstConvolution(made.folder)).toEqual([8, 9, 3, 3]);
    const again = await imported(made.folder, path);
    expect(again.graphs.map(({ weights }) => weights)).toEqual(again.graphs.map(() => 'equal'));
    const model = await openDiffusionModel(made.folder, onnxRuntime, { providers: ['cpu'] });
    onTestFinished(() => model.close());
    const sample = await sampleOf(model, each, folder);
    await denoise(model, [sample]);
    expect(sample.denoising.latent.every(Number.isFinite)).toBe(true);
    return sample.denoising.latent;
  };
  // Only the channels of the mask and of the picture differ.
  expect(await drawn(1)).not.toEqual(await drawn(2));
});

const firstConvolution = (folder: string) =>
  readGraph({ path: join(folder, 'unet/model.onnx') })
    .initializers.map(({ tensor }) => tensor)
    .find(({ name }) => name === 'conv_in.weight')
    ?.dims?.map(toNumber);

test.each([
  ['sd-inpaint', 4, 9],
  ['sd15', 9, 4],
])('Like %s, a file with %i channels is refused, because the graph has %i', async (base, has, wanted) => {
  const [folder, files] = [await tempFolder('base'), await tempFolder('weights')];
  unpackFixture(base, folder);
  unpackFixture('sd15-weights', files);
  const four = await readTensors(join(files, 'whole.safetensors'));
  const path = await writeTensors(has === 4 ? four : withNineChannels(four, 1));
  await expect(imported(folder, path)).rejects.toThrow(
    `is of another architecture: its ${CONV_IN} is 8 x ${has} x 3 x 3, and unet/model.onnx of base@1 has 8 x ${wanted} x 3 x 3 there.`,
  );
});

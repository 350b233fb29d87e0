/**
 * The demo model gives the same results in Lehr as in torch. The fixtures were made by the Python pipeline next to the training
 * code from the exported weights (export.py --fixtures), in float32.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type DiffusionModel,
  openDiffusionModel,
} from '../../apps/worker/src/engine/diffusion/folder/diffusion-folder.ts';
import { LaneSample } from '../../apps/worker/src/engine/diffusion/lane/lane-sample.ts';
import type { DiffusionSample, SampleId } from '../../apps/worker/src/engine/protocol/messages.ts';
import { onnxRuntime } from '../../apps/worker/src/engine/runtime/onnx.ts';
import type { SamplerName } from '../../packages/shared/src/index.ts';

const MODEL = fileURLToPath(new URL('../../packages/demo-models/models/demo-diffusion', import.meta.url));
const FIXTURES = new URL('../../packages/demo-models/train/diffusion/fixtures/parity/', import.meta.url);

interface FixtureFile {
  readonly file: string;
  readonly shape: readonly number[];
}

interface Fixture {
  readonly prompt: string;
  readonly negative_prompt: string;
  readonly seed: number;
  readonly width: number;
  readonly height: number;
  readonly steps: number;
  readonly guidance: number;
  readonly sampler: SamplerName;
  readonly input_ids: readonly number[];
  readonly embeddings: FixtureFile;
  readonly initial_latent: FixtureFile;
  readonly final_latent: FixtureFile;
  readonly picture: FixtureFile;
}

const fixtures: readonly Fixture[] = JSON.parse(readFileSync(new URL('fixtures.json', FIXTURES), 'utf8'));

const floatsOf = ({ file, shape }: FixtureFile): Float32Array => {
  const floats = new Float32Array(new Uint8Array(readFileSync(new URL(file, FIXTURES))).buffer);
  expect(floats).toHaveLength(shape.reduce((product, size) => product * size));
  return floats;
};

/** The largest difference at one index. */
function distance(a: ArrayLike<number>, b: ArrayLike<number>): number {
  expect(a).toHaveLength(b.length);
  return Array.from(a).reduce((most, value, i) => Math.max(most, Math.abs(value - b[i])), 0);
}

let model: DiffusionModel;
beforeAll(async () => {
  model = await openDiffusionModel(MODEL, onnxRuntime, { providers: ['cpu'], threads: 2 });
});
afterAll(() => model.close());

async function newSample(fixture: Fixture): Promise<LaneSample> {
  const { width, height, negative_prompt: negativePrompt, ...rest } = fixture;
  const request: DiffusionSample = {
    ...rest,
    id: 'parity' as SampleId,
    task: 'diffusion',
    model: 'demo-diffusion@1',
    lane: 'parity',
    width,
    height,
    negativePrompt,
    maxBatchMates: 1,
  };
  const { latentChannels, scaleFactor } = model.vae;
  const shape = [latentChannels, height / scaleFactor, width / scaleFactor] as const;
  const sample = new LaneSample(request, model.schedulerConfig, shape, 0);
  sample.prompt.setEmbeddings(await model.textEncoder.encode(sample.prompt.texts));
  return sample;
}

describe.each(fixtures)('$prompt', (fixture) => {
  test('A prompt has the same tokens and the same embedding as in torch', async () => {
    expect(model.tokenizer.encode(fixture.prompt)).toEqual(fixture.input_ids);
    const [{ hidden }] = await model.textEncoder.encode([fixture.prompt]);
    expect(distance(hidden, floatsOf(fixture.embeddings))).toBeLessThanOrEqual(1e-4);
  });

  test('A picture has the same noise, the same final latent and the same pixels as in torch', async () => {
    const { width, height, steps } = fixture;
    const sample = await newSample(fixture);
    expect(distance(sample.denoising.latent, floatsOf(fixture.initial_latent))).toBeLessThanOrEqual(1e-6);
    const size = { width: width / model.vae.scaleFactor, height: height / model.vae.scaleFactor };
    while (sample.denoising.callsLeft > 0) {
      sample.advance(await model.unet.predict(sample.nextRows(), size), 0, 1);
    }
    expect(sample.step).toBe(steps);
    expect(distance(sample.denoising.latent, floatsOf(fixture.final_latent))).toBeLessThanOrEqual(1e-3);
    const pixels = await model.vae.decode(sample.denoising.latent, { width, height });
    const picture = sharp(fileURLToPath(new URL(fixture.picture.file, FIXTURES)));
    expect(distance(pixels, await picture.removeAlpha().raw().toBuffer())).toBeLessThanOrEqual(2);
  });
});

const CHECKER = new URL('../../packages/demo-models/train/diffusion/fixtures/checker/', import.meta.url);
/** Rendered scenes, and what the model drew of the fixtures. */
const PICTURES = [
  ...['00', '01', '02', '03', '04', '05', '06', '07', '08'].map((name) => new URL(`${name}.png`, CHECKER)),
  ...fixtures.map(({ picture }) => new URL(picture.file, FIXTURES)),
];

const meanDistance = (a: ArrayLike<number>, b: ArrayLike<number>): number =>
  Array.from(a).reduce((sum, value, i) => sum + Math.abs(value - b[i]), 0) / a.length;

test('A picture of shapes comes back from encoder and decoder with a mean difference of at most 0.6 of 255', async () => {
  const { encoder } = model.pictureInput;
  const differences: number[] = [];
  for (const file of PICTURES) {
    const { data, info } = await sharp(fileURLToPath(file))
      .removeAlpha()
      .raw()
      .toBuffer({ resolveWithObject: true });
    const encoded = await encoder?.encode(data, info);
    const back = await model.vae.decode(encoded?.mean ?? new Float32Array(), info);
    differences.push(meanDistance(back, data));
  }
  expect(Math.max(...differences)).toBeLessThanOrEqual(0.6);
});

test.each(fixtures)('What is encoded is near the latent that was drawn: $prompt', async (fixture) => {
  const file = fileURLToPath(new URL(fixture.picture.file, FIXTURES));
  const encoded = await model.pictureInput.encoder?.encode(
    await sharp(file).removeAlpha().raw().toBuffer(),
    fixture,
  );
  const drawn = floatsOf(fixture.final_latent);
  // The decoder was trained to forgive noise of a deviation of up to 0.3.
  expect(meanDistance(encoded?.mean ?? [], drawn)).toBeLessThanOrEqual(0.2);
  // It has no variance.
  expect(Math.max(...(encoded?.deviation ?? []))).toBeLessThan(1e-6);
});

test('The rows of the demo model can be at different steps', () => {
  expect(model.batching).toEqual({ mode: 'rows' });
  expect(model.nativeSize).toEqual({ width: 256, height: 256 });
});

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TinyDiffusionOptions, writeTinyDiffusion } from '@lehr/demo-models';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { onnxRuntime } from '../runtime/onnx.ts';
import { checkRows } from './folder/load-rows.ts';
import { rewireTimestep } from './folder/rewire-unet.ts';
import { Unet, type UnetConfig, type UnetRow } from './unet.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lehr-unet-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const SIZE = { height: 8, width: 6 };

async function openUnet(options: TinyDiffusionOptions = {}, config: UnetConfig = {}): Promise<Unet> {
  await writeTinyDiffusion(folder, options);
  const path = join(folder, 'unet/model.onnx');
  const result = rewireTimestep(path);
  if (result.outcome !== 'rewired') throw new Error('Wanted a rewired graph.');
  const session = await onnxRuntime.load({ path, bytes: result.bytes }, { providers: ['cpu'], threads: 1 });
  return new Unet(session, { mode: 'rows' }, config);
}

async function openAligned(options: TinyDiffusionOptions = {}): Promise<Unet> {
  await writeTinyDiffusion(folder, options);
  const path = join(folder, 'unet/model.onnx');
  const session = await onnxRuntime.load({ path }, { providers: ['cpu'], threads: 1 });
  return new Unet(session, { mode: 'aligned', reason: 'for this test' });
}

const values = (length: number, phase: number) =>
  Float32Array.from({ length }, (_, i) => Math.sin(i * i * 0.37 + phase));

const row = (timestep: number, phase = timestep, latentChannels = 4): UnetRow => ({
  latent: values(latentChannels * SIZE.height * SIZE.width, phase),
  timestep,
  promptEmbedding: values(77 * 32, phase + 0.5),
});

const largestDifference = (a: Float32Array, b: Float32Array) =>
  Math.max(...a.map((value, i) => Math.abs(value - b[i])));

const alone = async (unet: Unet, only: UnetRow) => (await unet.predict([only], SIZE)).rows[0];

const variants: readonly TinyDiffusionOptions[] = [
  { dtype: 'float32', timestepType: 'int64' },
  { dtype: 'float32', timestepType: 'float32', latentChannels: 16 },
  { dtype: 'float16', timestepType: 'int64' },
  { dtype: 'float16', timestepType: 'float16', externalData: true },
];

test.each(variants)(
  'Rows at different timesteps in one run equal the same rows alone: %o',
  async (options) => {
    const unet = await openUnet(options);
    expect(unet.latentChannels).toBe(options.latentChannels ?? 4);
    const rows = [999, 3, 500, 21, 740].map((timestep) => row(timestep, timestep, unet.latentChannels));
    const { rows: together, badRows } = await unet.predict(rows, SIZE);
    expect(badRows).toEqual([]);
    for (const [i, single] of rows.entries()) {
      expect(largestDifference(together[i], await alone(unet, single))).toBeLessThanOrEqual(1e-6);
    }
  },
);

test('The check at load finds no difference on a rewired graph, and an effect of the timestep', async () => {
  const unet = await openUnet();
  const { difference, effect } = await checkRows(unet, SIZE, 77);
  expect(difference).toBeLessThanOrEqual(1e-6);
  expect(effect).toBeGreaterThan(0.05);
});

test('The prediction depends on the prompt, on the timestep and on neighbouring values', async () => {
  const unet = await openUnet();
  const base = row(500);
  const prediction = await alone(unet, base);
  const otherPrompt = { ...base, promptEmbedding: values(77 * 32, 9) };
  const otherTimestep = { ...base, timestep: 100 };
  const poked = { ...base, latent: base.latent.slice() };
  poked.latent[0] += 1;
  expect(largestDifference(prediction, await alone(unet, otherPrompt))).toBeGreaterThan(0.01);
  expect(largestDifference(prediction, await alone(unet, otherTimestep))).toBeGreaterThan(0.01);
  expect(Math.abs(prediction[1] - (await alone(unet, poked))[1])).toBeGreaterThan(1e-4);
});

test('A graph with float timesteps gets fractional ones', async () => {
  const unet = await openUnet({ timestepType: 'float32' });
  const whole = await alone(unet, row(946, 1));
  expect(largestDifference(whole, await alone(unet, row(946.42, 1)))).toBeGreaterThan(1e-4);
});

test('A graph with whole timesteps gets the nearest one', async () => {
  const unet = await openUnet({ timestepType: 'int64' });
  expect(await alone(unet, row(946.42, 1))).toEqual(await alone(unet, row(946, 1)));
  expect(await alone(unet, row(893.84, 1))).toEqual(await alone(unet, row(894, 1)));
});

test('A row with a NaN is reported, and the other rows stay valid', async () => {
  const unet = await openUnet();
  const poisoned = row(500);
  poisoned.latent[7] = Number.NaN;
  const infinite = row(20);
  infinite.promptEmbedding[0] = Number.POSITIVE_INFINITY;
  const { rows, badRows } = await unet.predict([row(1), poisoned, row(2), infinite], SIZE);
  expect(badRows).toEqual([1, 3]);
  expect(largestDifference(rows[0], await alone(unet, row(1)))).toBeLessThanOrEqual(1e-6);
  expect(largestDifference(rows[2], await alone(unet, row(2)))).toBeLessThanOrEqual(1e-6);
});

test('A row that overflows half precision is reported as bad', async () => {
  const unet = await openUnet({ dtype: 'float16' });
  const loud = row(500);
  loud.latent.fill(60_000);
  loud.latent[0] = 1e6;
  expect((await unet.predict([loud, row(2)], SIZE)).badRows).toEqual([0]);
});

test('Padding a batch does not change the results', async () => {
  const unet = await openUnet();
  const rows = [row(700), row(30), row(5)];
  const plain = await unet.predict(rows, SIZE);
  const padded = await unet.predict(rows, SIZE, 8);
  expect(padded.rows).toHaveLength(3);
  for (const [i] of rows.entries())
    expect(largestDifference(padded.rows[i], plain.rows[i])).toBeLessThanOrEqual(1e-6);
});

test.each([{}, { timestepDims: [1] }, { timestepDims: ['steps'] }])(
  'A graph that is not rewired runs rows with equal timesteps and refuses others: %o',
  async (options) => {
    const unet = await openAligned(options);
    const { rows } = await unet.predict([row(300, 1), row(300, 2)], SIZE);
    expect(largestDifference(rows[1], await alone(unet, row(300, 2)))).toBeLessThanOrEqual(1e-6);
    await expect(unet.predict([row(300), row(301)], SIZE)).rejects.toThrow('one timestep for all rows');
  },
);

test('Rows of the wrong size are refused before the run', async () => {
  const unet = await openUnet();
  const short = { ...row(1), latent: new Float32Array(5) };
  await expect(unet.predict([row(1), short], SIZE)).rejects.toThrow('a latent of 5 values, wanted 192');
  for (const length of [0, 31]) {
    const otherText = { ...row(1), promptEmbedding: new Float32Array(length) };
    await expect(unet.predict([row(1), otherText], SIZE)).rejects.toThrow(
      `a prompt embedding of ${length} values, wanted a multiple of 32`,
    );
  }
  await expect(unet.predict([], SIZE)).rejects.toThrow('at least one row');
});

test.each([
  [true, 1e-6],
  [false, 0],
])(
  'Rows with prompts of 1, 2, 3 and 5 chunks, sharing runs %s, equal the same rows alone',
  async (sharesLengths, most) => {
    const unet = await openUnet({}, { sharesLengths });
    const rows = [1, 2, 1, 3, 5].map((chunks, i) => ({
      ...row(900 - 200 * i, i),
      promptEmbedding: values(chunks * 77 * 32, i + 0.5),
    }));
    for (const batch of [rows.slice(0, 3), rows]) {
      const { rows: together } = await unet.predict(batch, SIZE);
      expect(together).toHaveLength(batch.length);
      for (const [i, single] of batch.entries()) {
        expect(largestDifference(together[i], await alone(unet, single))).toBeLessThanOrEqual(most);
      }
    }
  },
);

test('A config that contradicts the graph is refused', async () => {
  await writeTinyDiffusion(folder);
  const session = await onnxRuntime.load({ path: join(folder, 'unet/model.onnx') }, { providers: ['cpu'] });
  const open = () => new Unet(session, { mode: 'aligned', reason: 'test' }, { inputChannels: 9 });
  expect(open).toThrow('has 4 along axis 1, but its config.json says 9');
});

test('50 steps at guidance 15 stay finite', async () => {
  const unet = await openUnet();
  const alphaBar = alphasCumprod();
  const prompt = values(77 * 32, 1);
  const nothing = values(77 * 32, 2);
  let latent = gaussian(4 * SIZE.height * SIZE.width);
  for (let step = 0; step < 50; step += 1) {
    const timestep = 981 - step * 20;
    const rows = [nothing, prompt].map((promptEmbedding) => ({ latent, timestep, promptEmbedding }));
    const { rows: predictions, badRows } = await unet.predict(rows, SIZE);
    expect(badRows).toEqual([]);
    latent = ddimStep(
      latent,
      predictions[0],
      predictions[1],
      alphaBar[timestep],
      alphaBar[Math.max(timestep - 20, 0)],
    );
  }
  expect(Math.max(...latent.map(Math.abs))).toBeLessThan(100);
});

/** Stable Diffusion's betas: the squares of 1000 evenly spaced values from sqrt(0.00085) to sqrt(0.012). */
function alphasCumprod(): number[] {
  const [first, last] = [Math.sqrt(0.00085), Math.sqrt(0.012)];
  let product = 1;
  return Array.from({ length: 1000 }, (_, i) => {
    product *= 1 - (first + ((last - first) * i) / 999) ** 2;
    return product;
  });
}

function gaussian(length: number): Float32Array {
  return Float32Array.from(
    { length },
    (_, i) => Math.sqrt(-2 * Math.log((i + 0.5) / length)) * Math.cos(i * 2.4),
  );
}

function ddimStep(
  latent: Float32Array,
  without: Float32Array,
  withPrompt: Float32Array,
  from: number,
  to: number,
) {
  return latent.map((value, i) => {
    const noise = without[i] + 15 * (withPrompt[i] - without[i]);
    const clean = (value - Math.sqrt(1 - from) * noise) / Math.sqrt(from);
    return Math.sqrt(to) * clean + Math.sqrt(1 - to) * noise;
  });
}

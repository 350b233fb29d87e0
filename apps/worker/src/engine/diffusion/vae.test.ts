import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TinyDiffusionOptions, writeTinyDiffusion } from '@lehr/demo-models';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { onnxRuntime } from '../runtime/onnx.ts';
import type { RuntimeSession } from '../runtime/runtime.ts';
import type { Tensor } from '../runtime/tensor.ts';
import { openVae } from './vae.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lehr-vae-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

async function open(model: TinyDiffusionOptions = {}) {
  await writeTinyDiffusion(folder, model);
  const path = join(folder, 'vae_decoder/model.onnx');
  const session = await onnxRuntime.load({ path }, { providers: ['cpu'], threads: 1 });
  return openVae(session, { scalingFactor: 0.18215, shiftFactor: 0 });
}

const latentOf = (length: number) => Float32Array.from({ length }, (_, i) => Math.sin(i * i * 0.3));

/** A session whose run applies `decode` to its input, to check what Vae does before and after the run. */
function fakeDecoder(decode: (latent: Tensor) => Tensor): RuntimeSession {
  return {
    provider: 'cpu',
    placement: undefined,
    refusals: [],
    inputs: [{ name: 'latent_sample', type: 'float32', dims: ['b', 3, 'h', 'w'] }],
    outputs: [{ name: 'sample', type: 'float32', dims: ['b', 3, 'h', 'w'] }],
    run: async ({ latent_sample }) => ({ sample: decode(latent_sample) }),
    close: async () => {},
  };
}

test('The scale factor is measured on the graph, and a picture has the requested size', async () => {
  const vae = await open({ latentChannels: 16 });
  expect(vae.scaleFactor).toBe(8);
  expect(vae.latentChannels).toBe(16);
  const pixels = await vae.decode(latentOf(16 * 3 * 5), { height: 24, width: 40 });
  expect(pixels).toBeInstanceOf(Uint8Array);
  expect(pixels).toHaveLength(24 * 40 * 3);
  expect(new Set(pixels).size).toBeGreaterThan(50);
});

test('Half precision decodes the same picture to within a few levels', async () => {
  const latent = latentOf(4 * 4 * 4);
  const size = { height: 32, width: 32 };
  const exact = await (await open()).decode(latent, size);
  const half = await (await open({ dtype: 'float16' })).decode(latent, size);
  expect(Math.max(...half.map((level, i) => Math.abs(level - exact[i])))).toBeLessThanOrEqual(3);
});

test('A picture keeps its latent until its last piece, also when another one is decoded in between', async () => {
  const whole = fakeDecoder((latent) => latent);
  // Reads its input after the first piece, as a session does that repeats a failed run.
  const session: RuntimeSession = {
    ...whole,
    async *runInPieces(feeds) {
      yield;
      return whole.run(feeds);
    },
  };
  const vae = await openVae(session, { scalingFactor: 1, shiftFactor: 0 });
  const size = { height: 1, width: 1 };
  const run = vae.decodeInPieces(Float32Array.of(1, 1, 1), size);
  expect((await run.next()).done).toBe(false);
  expect(await vae.decode(Float32Array.of(-1, -1, -1), size)).toEqual(Uint8Array.of(0, 0, 0));
  expect(await run.next()).toEqual({ done: true, value: Uint8Array.of(255, 255, 255) });
});

test('Latents are unscaled and shifted; pixels are interleaved, rounded and clamped', async () => {
  const vae = await openVae(
    fakeDecoder((latent) => latent),
    { scalingFactor: 2, shiftFactor: 0.5 },
  );
  // Two pixels: red 3 / 2 + 0.5 = 2 and -2 / 2 + 0.5 = -0.5, and so on.
  const latent = Float32Array.of(3, -2, -1, 0, -3, -5);
  const pixels = await vae.decode(latent, { height: 1, width: 2 });
  expect([...pixels]).toEqual([255, 128, 0, 64, 191, 0]);
});

test('A NaN is an error and does not give a black picture', async () => {
  const vae = await open();
  const latent = latentOf(64);
  latent[10] = Number.NaN;
  await expect(vae.decode(latent, { height: 32, width: 32 })).rejects.toMatchObject({
    code: 'numeric-error',
  });
});

test('Half precision that overflows is an error', async () => {
  const vae = await open({ dtype: 'float16' });
  const latent = new Float32Array(64).fill(30_000);
  await expect(vae.decode(latent, { height: 32, width: 32 })).rejects.toMatchObject({
    code: 'numeric-error',
  });
});

test('A graph whose output is not RGB at a whole multiple of the latent size is refused', async () => {
  const grey = fakeDecoder(({ dims }) => {
    const shape = [dims[0], 1, dims[2], dims[3]];
    return { type: 'float32', data: new Float32Array(dims[2] * dims[3]), dims: shape };
  });
  const opened = openVae(grey, { scalingFactor: 1, shiftFactor: 0 });
  await expect(opened).rejects.toMatchObject({ code: 'model-unavailable' });
});

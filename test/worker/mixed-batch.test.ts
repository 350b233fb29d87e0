/** Pictures of all kinds in the same runs of a real UNet, on ONNX Runtime, against each of them drawn alone. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type DiffusionModel,
  openDiffusionModel,
} from '../../apps/worker/src/engine/diffusion/folder/diffusion-folder.ts';
import type { LaneSample } from '../../apps/worker/src/engine/diffusion/lane/lane-sample.ts';
import { onnxRuntime } from '../../apps/worker/src/engine/runtime/onnx.ts';
import {
  type DiffusersCase,
  denoise,
  relativeDistance,
  sampleOf,
  secondPasses,
  unpackFixture,
} from '../support/diffusion-fixtures.ts';

/** The graph of the fixture takes seconds to load; the machine may be busy. */
const OPENING_MS = 300_000;

let folder: string;
let model: DiffusionModel;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lehr-mixed-'));
  unpackFixture('sd15-inpaint-hires', folder);
  model = await openDiffusionModel(folder, onnxRuntime, { providers: ['cpu'], threads: 1 });
}, OPENING_MS);
afterAll(async () => {
  await model?.close();
  await rm(folder, { recursive: true, force: true });
});

const PLAIN: DiffusersCase = {
  ...{ name: 'plain', prompt: 'a red circle', negative_prompt: null, sampler: 'euler', steps: 5 },
  ...{ guidance: 5, seed: 1, width: 64, height: 64 },
};
const MASKED = { image: 'input.png', mask: 'mask.png' };
const GROWN = { scale: 2, steps: 4, strength: 0.6, upscaler: 'lanczos' } as const;
const CASES: readonly DiffusersCase[] = [
  PLAIN,
  { ...PLAIN, ...MASKED, name: 'masked', seed: 2, strength: 0.8, sampler: 'euler_a' },
  { ...PLAIN, name: 'weighted', seed: 3, prompt: 'a (red:1.3) [circle]', promptSyntax: 'weighted' },
  { ...PLAIN, name: 'long', seed: 4, prompt: 'a red circle, '.repeat(40), promptSyntax: 'weighted' },
  { ...PLAIN, name: 'hires', seed: 5, hires: { ...GROWN, upscaler: 'latent' } },
  { ...PLAIN, ...MASKED, name: 'masked hires', seed: 6, strength: 1, hires: GROWN },
];
/** Beside the second passes. */
const LARGE: DiffusersCase = { ...PLAIN, name: 'large', seed: 7, width: 128, height: 128 };

interface Drawn {
  readonly latent: Float32Array;
  readonly pixels: Uint8Array;
}

/** The first passes of all share their runs, and then what has another one. */
async function draw(cases: readonly DiffusersCase[], beside: readonly DiffusersCase[] = []) {
  const first: LaneSample[] = [];
  for (const each of cases) first.push(await sampleOf(model, each, folder));
  await denoise(model, first);
  const last = await secondPasses(model, first);
  const large: LaneSample[] = [];
  for (const each of beside) large.push(await sampleOf(model, each, folder));
  await denoise(model, [...last.filter((sample) => sample.first), ...large]);
  const drawn: Drawn[] = [];
  for (const { denoising, request } of [...last, ...large])
    drawn.push({ latent: denoising.latent, pixels: await model.vae.decode(denoising.latent, request) });
  return drawn;
}

test('Plain, masked, weighted, long and growing pictures in shared runs equal those drawn alone, pixel by pixel', {
  timeout: OPENING_MS,
}, async () => {
  const together = await draw(CASES, [LARGE]);
  const alone: Drawn[] = [];
  for (const each of [...CASES, LARGE]) alone.push(...(await draw([each])));
  for (const [i, { name }] of [...CASES, LARGE].entries()) {
    expect(relativeDistance(together[i].latent, alone[i].latent), name).toBeLessThanOrEqual(1e-5);
    expect(Buffer.from(together[i].pixels).equals(Buffer.from(alone[i].pixels)), name).toBe(true);
  }
});

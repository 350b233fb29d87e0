/**
 * UNets of one pipeline as torch's TorchScript exporter writes them: with whole timesteps, with a timestep of size [1] and other names,
 * and in float16; and as ONNX Runtime's converter makes float16 of an export, with its weights in a file beside it. Each draws
 * the pictures of the same UNet in torch.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openDiffusionModel } from '../../apps/worker/src/models/diffusion/diffusion-folder.ts';
import { onnxRuntime } from '../../apps/worker/src/runtime/onnx.ts';
import {
  casesOf,
  denoise,
  expectedPicture,
  relativeDistance,
  sampleOf,
  unpackFixture,
} from '../support/diffusion-fixtures.ts';

/** Loading takes 2 s of CPU time; the machine may be busy. */
const OPENING_MS = 600_000;

/** The largest distance between float16 and float32 in diffusers itself, for the same pictures. */
const HALF = 4.6e-3;

test.each([
  ['sd15-torchscript-14', 1e-3],
  ['sd15-torchscript-17', 1e-3],
  ['sd15-fp16', HALF],
  ['sd15-fp16-converted', HALF],
])(
  '%s has a timestep for each row and draws the pictures of torch',
  async (name, tolerance) => {
    const folder = await mkdtemp(join(tmpdir(), 'lehr-export-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    unpackFixture(name, folder);
    const model = await openDiffusionModel(folder, onnxRuntime, { providers: ['cpu'], threads: 1 });
    onTestFinished(() => model.close());
    expect(model.batching).toEqual({ mode: 'rows' });
    const cases = casesOf(name);
    const samples = await Promise.all(cases.map((each) => sampleOf(model, each)));
    await denoise(model, samples);
    expect(cases.length).toBeGreaterThan(0);
    for (const [i, each] of cases.entries()) {
      const { latent } = await expectedPicture(name, each);
      expect(relativeDistance(samples[i].latent, latent)).toBeLessThanOrEqual(tolerance);
    }
  },
  OPENING_MS,
);

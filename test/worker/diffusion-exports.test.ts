/**
 * Graphs of one pipeline as torch's exporters write them. TorchScript: with whole timesteps, with a timestep of size [1] and other
 * names, and in float16. Dynamo, in two opsets and with weights in a file beside each graph: with a scalar timestep, one of size
 * [1] and fixed latents, one for each row, and the conditions of SDXL and of a latent consistency model. And a UNet in float16 of
 * ONNX Runtime's converter. Each draws the pictures of the same pipeline in torch.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openDiffusionModel } from '../../apps/worker/src/engine/diffusion/folder/diffusion-folder.ts';
import { onnxRuntime } from '../../apps/worker/src/engine/runtime/onnx.ts';
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

const NAME =
  '%s has a timestep for each row, all attentions fused, and draws the pictures of torch, in a batch as alone';

const drawsAsTorch = async (name: string, tolerance: number): Promise<void> => {
  const folder = await mkdtemp(join(tmpdir(), 'lehr-export-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  unpackFixture(name, folder);
  const model = await openDiffusionModel(folder, onnxRuntime, { providers: ['cpu'], threads: 1 });
  onTestFinished(() => model.close());
  expect(model.batching).toEqual({ mode: 'rows' });
  for (const { graph, fusion } of model.graphs)
    expect({ graph, isFused: (fusion?.attentions ?? 0) > 0, left: fusion?.left }).toEqual({
      graph,
      isFused: true,
      left: {},
    });
  const cases = casesOf(name);
  const samples = await Promise.all(cases.map((each) => sampleOf(model, each)));
  await denoise(model, samples);
  expect(cases.length).toBeGreaterThan(0);
  for (const [i, each] of cases.entries()) {
    const { latent } = await expectedPicture(name, each);
    expect(relativeDistance(samples[i].denoising.latent, latent)).toBeLessThanOrEqual(tolerance);
  }
  const alone = await sampleOf(model, cases[0]);
  await denoise(model, [alone]);
  expect(relativeDistance(samples[0].denoising.latent, alone.denoising.latent)).toBeLessThanOrEqual(1e-5);
};

test.each([
  ['sd15-torchscript-17', 1e-3],
  ['sd15-dynamo-21-rows', 1e-3],
] as const)(NAME, { timeout: OPENING_MS }, drawsAsTorch);

test.each([
  ['sd15-torchscript-14', 1e-3],
  ['sd15-fp16', HALF],
  ['sd15-fp16-converted', HALF],
  ['sd15-dynamo-18', 1e-3],
  ['sd15-dynamo-21-one', 1e-3],
  ['sdxl-lcm-dynamo-21', 1e-3],
] as const)(NAME, { tags: ['long'] }, drawsAsTorch);

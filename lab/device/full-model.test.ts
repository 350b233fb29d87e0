/** The model that `npm run lab -- device` measures with has the size and the layers of Stable Diffusion 1.5. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { probeRow } from '../../apps/worker/src/engine/diffusion/folder/load-rows.ts';
import { loadUnet } from '../../apps/worker/src/engine/diffusion/folder/load-unet.ts';
import { openVae } from '../../apps/worker/src/engine/diffusion/vae.ts';
import { onnxRuntime } from '../../apps/worker/src/engine/runtime/onnx.ts';
import { decode, toNumber } from '../../packages/onnx-model/src/index.ts';
import { buildFullUnet } from './full-unet.ts';
import { buildFullVae } from './full-vae.ts';
import { SharedWeights, WEIGHTS_FILE } from './shared-weights.ts';

const CPU = { providers: ['cpu'], threads: 1 } as const;

/** Of the tensors that the published model has too. */
const parametersOf = (bytes: Uint8Array): number =>
  (decode('ModelProto', bytes).graph?.initializer ?? [])
    .filter(({ name }) => name?.endsWith('.weight') || name?.endsWith('.bias'))
    .map(({ dims }) => (dims ?? []).reduce<number>((product, dim) => product * (toNumber(dim) ?? 0), 1))
    .reduce((sum, count) => sum + count, 0);

test('UNet and VAE decoder have the published numbers of parameters', () => {
  expect(parametersOf(buildFullUnet('float16', new SharedWeights('float16')))).toBe(859_520_964);
  expect(parametersOf(buildFullVae('float16', new SharedWeights('float16')))).toBe(49_490_199);
});

test('The same layers with few channels run, with a timestep for each row and finite values', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'lehr-full-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const weights = new SharedWeights('float16', 200_000);
  await writeFile(join(folder, 'unet.onnx'), buildFullUnet('float16', weights, [32, 32, 64, 64]));
  await writeFile(join(folder, 'vae.onnx'), buildFullVae('float16', weights, [64, 64, 32, 32]));
  await weights.write(join(folder, WEIGHTS_FILE));

  const plan = { probe: { height: 16, width: 16 }, tokens: 77 };
  const { unet } = await loadUnet(join(folder, 'unet.onnx'), plan, onnxRuntime, CPU);
  onTestFinished(() => unet.close());
  expect(unet.batching).toEqual({ mode: 'rows' });
  const row = probeRow(unet, plan.probe, plan.tokens, 500);
  const { rows, badRows } = await unet.predict([row, { ...row, timestep: 20 }], plan.probe);
  expect(badRows).toEqual([]);
  expect(rows[0]).not.toEqual(rows[1]);

  const vae = await openVae(await onnxRuntime.load({ path: join(folder, 'vae.onnx') }, CPU), {
    scalingFactor: 0.18215,
    shiftFactor: 0,
  });
  onTestFinished(() => vae.close());
  expect(vae.scaleFactor).toBe(8);
  expect(await vae.decode(row.latent, { height: 128, width: 128 })).toHaveLength(128 * 128 * 3);
});

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TinyDiffusionOptions, writeTinyDiffusion } from '@lehr/demo-models';
import { encode } from '@lehr/onnx-model';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { onnxRuntime } from './onnx.ts';
import { createSimulatedRuntime, SIMULATED_T4, type SimulatedOptions } from './simulated.ts';
import type { Tensor } from './tensor.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lehr-simulated-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const graphPath = (graph: string) => join(folder, graph, 'model.onnx');

async function openGraph(graph: string, options: SimulatedOptions, model: TinyDiffusionOptions = {}) {
  await writeTinyDiffusion(folder, model);
  return createSimulatedRuntime(options).load({ path: graphPath(graph) }, { providers: ['cuda'] });
}

const floats = (dims: number[], phase: number): Tensor => ({
  type: 'float32',
  data: Float32Array.from({ length: dims.reduce((a, b) => a * b) }, (_, i) => Math.sin(i + phase)),
  dims,
});

const unetFeeds = (rows: number, timesteps: Tensor) => ({
  sample: floats([rows, 4, 8, 8], 0),
  timestep: timesteps,
  encoder_hidden_states: floats([rows, 77, 32], 1),
});
const scalar = (value: bigint): Tensor => ({ type: 'int64', data: BigInt64Array.of(value), dims: [] });

test('Each kind of run takes the time of the latency model', async () => {
  const waits: number[] = [];
  const pause = (durationMs: number) => {
    waits.push(durationMs);
  };
  const unet = await openGraph('unet', { pause });
  for (const rows of [1, 8]) await unet.run(unetFeeds(rows, scalar(5n)));
  const vae = await openGraph('vae_decoder', { pause });
  await vae.run({ latent_sample: floats([2, 4, 8, 8], 0) });
  const text = await openGraph('text_encoder', { pause });
  await text.run({ input_ids: { type: 'int64', data: new BigInt64Array(77 * 3), dims: [3, 77] } });
  expect(waits).toEqual([9 + 61.9, 9 + 61.9 * 8, 520, 12]);
});

test('With an area, rows and pictures of a larger latent take longer in proportion', async () => {
  const waits: number[] = [];
  const latency = { ...SIMULATED_T4, latentArea: 64 };
  const pause = (durationMs: number) => {
    waits.push(durationMs);
  };
  const unet = await openGraph('unet', { latency, pause });
  await unet.run(unetFeeds(2, scalar(5n)));
  await unet.run({ ...unetFeeds(2, scalar(5n)), sample: floats([2, 4, 16, 8], 0) });
  const vae = await openGraph('vae_decoder', { latency, pause });
  for (const side of [8, 16]) await vae.run({ latent_sample: floats([1, 4, side, side], 0) });
  expect(waits).toEqual([9 + 61.9 * 2, 9 + 61.9 * 4, 260, 1040]);
});

test('A run blocks its thread for its duration and no longer', async () => {
  const latency = { ...SIMULATED_T4, stepBaseMs: 60, stepPerRowMs: 0 };
  const unet = await openGraph('unet', { latency });
  let ticks = 0;
  const timer = setInterval(() => {
    ticks += 1;
  }, 1);
  const startedAt = performance.now();
  const run = unet.run(unetFeeds(1, scalar(5n)));
  await run;
  const tookMs = performance.now() - startedAt;
  clearInterval(timer);
  expect(tookMs).toBeGreaterThanOrEqual(59);
  expect(ticks).toBeLessThan(20);
});

test('Inputs, outputs and shapes equal those of ONNX Runtime for the same folder', async () => {
  await writeTinyDiffusion(folder, { dtype: 'float16', latentChannels: 16 });
  const simulated = createSimulatedRuntime({ pause: () => {} });
  const feeds: Record<string, Record<string, Tensor>> = {
    text_encoder: { input_ids: { type: 'int64', data: new BigInt64Array(2 * 77), dims: [2, 77] } },
    vae_decoder: { latent_sample: { type: 'float16', data: new Uint16Array(16 * 12), dims: [1, 16, 4, 3] } },
    unet: {
      sample: { type: 'float16', data: new Uint16Array(2 * 16 * 12), dims: [2, 16, 4, 3] },
      timestep: scalar(3n),
      encoder_hidden_states: { type: 'float16', data: new Uint16Array(2 * 77 * 32), dims: [2, 77, 32] },
    },
  };
  for (const [graph, inputs] of Object.entries(feeds)) {
    const real = await onnxRuntime.load({ path: graphPath(graph) }, { providers: ['cpu'] });
    const pretended = await simulated.load({ path: graphPath(graph) }, { providers: ['cpu'] });
    expect(pretended.inputs).toEqual(real.inputs);
    expect(pretended.outputs).toEqual(real.outputs);
    const shapes = (outputs: Record<string, Tensor>) =>
      Object.entries(outputs).map(([name, { type, dims, data }]) => [name, type, dims, data.length]);
    expect(shapes(await pretended.run(inputs))).toEqual(shapes(await real.run(inputs)));
  }
});

test('The result of a row depends on its prompt, timestep and latent, and not on other rows', async () => {
  const unet = await openGraph('unet', { pause: () => {} }, { timestepDims: ['batch_size'] });
  const timesteps = (...values: bigint[]): Tensor => ({
    type: 'int64',
    data: BigInt64Array.from(values),
    dims: [values.length],
  });
  const three = unetFeeds(3, timesteps(1n, 500n, 999n));
  const together = (await unet.run(three)).out_sample;
  const rowOf = (tensor: Tensor, row: number): Tensor => {
    const length = tensor.data.length / 3;
    const data = (tensor.data as Float32Array).slice(row * length, (row + 1) * length);
    return { type: 'float32', data, dims: [1, ...tensor.dims.slice(1)] };
  };
  const base = {
    sample: rowOf(three.sample, 1),
    timestep: timesteps(500n),
    encoder_hidden_states: rowOf(three.encoder_hidden_states, 1),
  };
  const alone = (await unet.run(base)).out_sample.data;
  expect(alone).toEqual(rowOf(together, 1).data);
  const changed = [
    { ...base, timestep: timesteps(501n) },
    { ...base, sample: rowOf(three.sample, 0) },
    { ...base, encoder_hidden_states: rowOf(three.encoder_hidden_states, 0) },
  ];
  for (const feeds of changed) expect((await unet.run(feeds)).out_sample.data).not.toEqual(alone);
});

test('A graph that is not part of Stable Diffusion is refused', async () => {
  const path = join(folder, 'model.onnx');
  const graph = { node: [], input: [{ name: 'audio' }], output: [{ name: 'text' }] };
  writeFileSync(path, encode('ModelProto', { irVersion: 8, graph }));
  const load = createSimulatedRuntime().load({ path }, { providers: [] });
  await expect(load).rejects.toMatchObject({ code: 'model-unavailable' });
});

test('Wrong feeds are refused as on a real device', async () => {
  const vae = await openGraph('vae_decoder', { pause: () => {} });
  await expect(vae.run({})).rejects.toMatchObject({ code: 'engine-failed' });
  await vae.close();
  await expect(vae.run({ latent_sample: floats([1, 4, 2, 2], 0) })).rejects.toThrow('was closed');
});

import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TinyDiffusionOptions, writeTinyDiffusion } from '@lehr/demo-models';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { prepareFolder } from '../models/prepared/prepare-folder.ts';
import { onnxRuntime } from './onnx.ts';
import type { GraphSource, LoadOptions, RuntimeSession } from './runtime.ts';
import { floatValues, largestDifference, type Tensor } from './tensor.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lehr-pieces-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const CPU: LoadOptions = { providers: ['cpu'], threads: 1 };
const DIMS = [1, 4, 5, 3];
const values = Float32Array.from({ length: 60 }, (_, i) => Math.sin(i * i * 0.7 + i));
const feeds = (session: RuntimeSession): Record<string, Tensor> => ({
  latent_sample:
    session.inputs[0].type === 'float32'
      ? { type: 'float32', data: values, dims: DIMS }
      : { type: 'float16', data: Uint16Array.from(values, (_, i) => 0x3000 + i), dims: DIMS },
});

async function pictures(
  source: GraphSource,
  options = CPU,
): Promise<{ whole: Tensor; cut: Tensor; pieces: number }> {
  const whole = await onnxRuntime.load(source, options);
  const cut = await onnxRuntime.load(source, { ...options, largestPiece: 0.3 });
  try {
    const [a, b] = [await whole.run(feeds(whole)), await cut.run(feeds(cut), ['sample'])];
    return { whole: a.sample, cut: b.sample, pieces: cut.pieces ?? 1 };
  } finally {
    await whole.close();
    await cut.close();
  }
}

test.for<[string, TinyDiffusionOptions]>([
  ['opset 11', { opset: 11 }],
  ['opset 17', { opset: 17 }],
  ['weights in a file beside the graph', { externalData: true }],
])('A decoder in pieces draws the same picture to the bit as the whole: %s', async ([, options]) => {
  await writeTinyDiffusion(folder, options);
  const { whole, cut, pieces } = await pictures({ path: join(folder, 'vae_decoder/model.onnx') });
  expect(pieces).toBeGreaterThan(2);
  expect(cut).toEqual(whole);
});

test('Half precision differs by its rounding, because a CPU computes the whole in float32 and rounds only between pieces', async () => {
  await writeTinyDiffusion(folder, { dtype: 'float16' });
  const { whole, cut } = await pictures({ path: join(folder, 'vae_decoder/model.onnx') });
  expect(largestDifference(floatValues(cut), floatValues(whole))).toBeLessThan(2 ** -8);
});

test('A graph that is a link, and one that is prepared, are cut like others', async () => {
  await writeTinyDiffusion(folder, {});
  const path = join(folder, 'vae_decoder/model.onnx');
  symlinkSync(path, join(folder, 'vae_decoder/link.onnx'));
  const linked = await pictures({ path: join(folder, 'vae_decoder/link.onnx') });
  expect(linked.cut).toEqual(linked.whole);
  const { graphs } = await prepareFolder('diffusion', folder, onnxRuntime, CPU);
  const [file] = graphs.find(({ graph }) => graph === 'vae_decoder/model.onnx')?.optimized ?? [];
  const prepared = { path: join(folder, file.path), prepared: { from: path, isRewired: false } };
  const { whole, cut, pieces } = await pictures(prepared, { ...CPU, optimization: 'disabled' });
  expect(pieces).toBeGreaterThan(2);
  expect(cut).toEqual(whole);
});

test('Between two pieces another run of the same session changes nothing', async () => {
  await writeTinyDiffusion(folder, {});
  const session = await onnxRuntime.load(
    { path: join(folder, 'vae_decoder/model.onnx') },
    { ...CPU, largestPiece: 0.3 },
  );
  const alone = await session.run(feeds(session));
  const run = session.runInPieces?.(feeds(session), ['sample']);
  let yields = 0;
  let next = await run?.next();
  for (; next && !next.done; next = await run?.next()) {
    yields += 1;
    await session.run({
      latent_sample: { type: 'float32', data: values.map((value) => -value), dims: DIMS },
    });
  }
  expect(yields).toBe((session.pieces ?? 1) - 1);
  expect(next?.value).toEqual(alone);
  await session.close();
});

test('A graph that cannot be cut does not open in pieces', async () => {
  await writeTinyDiffusion(folder, {});
  const opened = onnxRuntime.load(
    { path: join(folder, 'vae_decoder/model.onnx') },
    { ...CPU, largestPiece: 1 },
  );
  await expect(opened).rejects.toThrow('it cannot be cut: a piece of that share is the whole');
});

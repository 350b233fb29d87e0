import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeTinyDiffusion } from '@lehr/demo-models';
import { systemClock } from '@lehr/shared';
import { expect, onTestFinished, test } from 'vitest';
import { correlation, shrinkPixels } from '../../../../../test/support/correlation.ts';
import { sd15Config } from '../../../../../test/support/sampler-golden.ts';
import { onnxRuntime } from '../runtime/onnx.ts';
import { fitLatentRgb, type LatentDecoder, LatentRgb, LeastSquares } from './latent-rgb.ts';
import { predictedClean } from './model-output.ts';
import { openVae } from './vae.ts';

/** For each colour the weights of four channels and the bias, small enough that nothing is clamped. */
const WEIGHTS = [
  [12, 7, -6, -7, 130],
  [8, 11, 7, -10, 120],
  [8, 7, 10, -14, 125],
].map((line) => Float64Array.from(line));

/** A linear VAE: each latent value becomes eight by eight pixels. */
function linearDecoder(): LatentDecoder & { decoded: number } {
  return {
    latentChannels: 4,
    scaleFactor: 8,
    decoded: 0,
    async decode(latent, { width, height }) {
      this.decoded += 1;
      const [columns, length] = [width / 8, latent.length / 4];
      return Uint8Array.from({ length: width * height * 3 }, (_, i) => {
        const [y, x] = [Math.floor(i / 3 / width), Math.floor(i / 3) % width];
        const at = Math.floor(y / 8) * columns + Math.floor(x / 8);
        const weights = WEIGHTS[i % 3];
        return Math.round(
          weights[4] + [0, 1, 2, 3].reduce((sum, c) => sum + weights[c] * latent[c * length + at], 0),
        );
      });
    },
  };
}

/** A clock that stands still, so that a slow machine does not end a fit early. */
const STILL = { ...systemClock, monotonic: () => 0 };

const latentOf = (length: number) =>
  Float32Array.from({ length }, (_, i) => Math.sin(i * 0.9) + Math.cos(i * i));

test('The fit to a linear decoder is exact to one level of colour', async () => {
  const vae = linearDecoder();
  const rgb = await fitLatentRgb(vae, { width: 64, height: 64 }, STILL);
  const latent = latentOf(4 * 6 * 9);
  const { pixels, width, height } = rgb.thumbnail(latent, { width: 9, height: 6 });
  expect({ width, height }).toEqual({ width: 9, height: 6 });
  const wanted = shrinkPixels(
    await vae.decode(latent, { width: 72, height: 48 }),
    { width: 72, height: 48 },
    8,
  );
  for (const [i, level] of pixels.entries()) expect(Math.abs(level - wanted[i])).toBeLessThanOrEqual(1);
});

test('The fit stops when it has enough positions, or after the first picture when that took too long', async () => {
  const small = linearDecoder();
  await fitLatentRgb(small, { width: 64, height: 64 }, STILL);
  expect(small.decoded).toBe(1024 / 64);
  const large = linearDecoder();
  await fitLatentRgb(large, { width: 256, height: 256 }, STILL);
  expect(large.decoded).toBe(1);
  let now = 0;
  const slow = linearDecoder();
  const monotonic = () => {
    now += 501;
    return now;
  };
  await fitLatentRgb(slow, { width: 64, height: 64 }, { ...systemClock, monotonic });
  expect(slow.decoded).toBe(1);
});

test.each([
  [
    { width: 64, height: 64 },
    { width: 64, height: 64 },
  ],
  [
    { width: 128, height: 96 },
    { width: 64, height: 48 },
  ],
  [
    { width: 65, height: 20 },
    { width: 33, height: 10 },
  ],
  [
    { width: 40, height: 200 },
    { width: 10, height: 50 },
  ],
])('A latent of size %o gives a thumbnail of size %o', (size, wanted) => {
  const rgb = new LatentRgb(4, WEIGHTS);
  const { pixels, width, height } = rgb.thumbnail(latentOf(4 * size.width * size.height), size);
  expect({ width, height }).toEqual(wanted);
  expect(pixels).toHaveLength(width * height * 3);
});

test('A thumbnail of a large latent holds means, and colours out of range are clamped', () => {
  const rgb = new LatentRgb(1, [Float64Array.of(1, 0), Float64Array.of(1000, 0), Float64Array.of(-1000, 0)]);
  const latent = Float32Array.from({ length: 128 * 64 }, (_, i) => (i % 2) * 100 + 10);
  const { pixels } = rgb.thumbnail(latent, { width: 128, height: 64 });
  expect([...pixels.subarray(0, 6)]).toEqual([60, 255, 0, 60, 255, 0]);
});

test('A preview resembles the picture even if the decoder is not linear', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'lehr-latent-rgb-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeTinyDiffusion(folder, { seed: 5 });
  const path = join(folder, 'vae_decoder/model.onnx');
  const session = await onnxRuntime.load({ path }, { providers: ['cpu'], threads: 1 });
  onTestFinished(() => session.close());
  const vae = await openVae(session, { scalingFactor: 0.18215, shiftFactor: 0 });
  const rgb = await fitLatentRgb(vae, { width: 64, height: 64 }, STILL);
  const picture = { width: 128, height: 128 };
  const latent = Float32Array.from({ length: 4 * 256 }, (_, i) => Math.sin(i / 9) + Math.cos(i / 50));
  const wanted = shrinkPixels(await vae.decode(latent, picture), picture, 8);
  const { pixels } = rgb.thumbnail(latent, { width: 16, height: 16 });
  expect(correlation(pixels, wanted)).toBeGreaterThan(0.8);
});

test('Two previews per second at the size of Stable Diffusion take less than a hundredth of the time', () => {
  const config = sd15Config();
  const rgb = new LatentRgb(4, WEIGHTS);
  const size = { width: 64, height: 64 };
  const [input, output] = [latentOf(4 * 64 * 64), latentOf(4 * 64 * 64)];
  const times = Array.from({ length: 50 }, () => {
    const startedAt = performance.now();
    rgb.thumbnail(predictedClean(config, 500, input, output), size);
    return performance.now() - startedAt;
  });
  const median = times.sort((a, b) => a - b)[25];
  expect(2 * median).toBeLessThan(0.01 * 1000);
});

/** Values from -1 to 1 without a simple relation between them. */
const column = (key: number): Float32Array =>
  Float32Array.from({ length: 200 }, (_, i) => Math.sin(key * 97 + i * i * 0.37 + i * key));

test('A linear relation is found exactly, for several right-hand sides and over several additions', () => {
  const fit = new LeastSquares(3, 2);
  for (const part of [1, 2]) {
    const known = [column(part), column(part + 5), new Float32Array(200).fill(1)];
    const side = (a: number, b: number, bias: number) =>
      Float32Array.from(known[0], (value, i) => a * value + b * known[1][i] + bias);
    fit.add(known, [side(40, -25, 128), side(-3, 60, 90)]);
  }
  expect(fit.count).toBe(400);
  const [first, second] = fit.solve();
  for (const [i, value] of [40, -25, 128].entries()) expect(first[i]).toBeCloseTo(value, 3);
  for (const [i, value] of [-3, 60, 90].entries()) expect(second[i]).toBeCloseTo(value, 3);
});

test('An unknown that is always 0 in the data is solved as 0 and does not change the others', () => {
  const fit = new LeastSquares(2, 1);
  fit.add([new Float32Array(200), column(3)], [column(3).map((value) => 7 * value)]);
  const [[dead, live]] = fit.solve();
  expect(dead).toBe(0);
  expect(live).toBeCloseTo(7, 5);
});

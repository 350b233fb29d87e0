import type { DiffusionGroup, TextToImageInput, WorkerStatus } from '@lehr/shared';
import { expect, test } from 'vitest';
import { DEFAULT_PIXEL_STEPS_PER_S, priceOf, rowStepsOf, rowStepsPerSecond } from './price.ts';

const input: TextToImageInput = {
  prompt: 'x',
  negative_prompt: '',
  width: 512,
  height: 512,
  steps: 20,
  guidance: 7.5,
  seed: 1,
  sampler: 'euler',
  n: 1,
  output_format: 'png',
  embed_prompt: false,
};
const group: DiffusionGroup = {
  task: 'diffusion',
  model: { name: 'sd', version: '1' },
  width: 512,
  height: 512,
};

const EMPTY_LANE = {
  rows: 0,
  row_cap: 8,
  samples: 0,
  paused: 0,
  left_ms: { interactive: 0, standard: 0, bulk: 0 },
};
const fleet = (...lanes: [queue: string, rowStepsPerS: number][]): WorkerStatus[] =>
  lanes.map(([queue, row_steps_per_s]) => ({
    id: 'w' as WorkerStatus['id'],
    started_at: 0,
    tasks: ['diffusion'],
    draining: false,
    models: [],
    unavailable: [],
    jobs: 0,
    lanes: [{ ...EMPTY_LANE, queue, row_steps_per_s }],
  }));

test('A picture with guidance takes two rows per step, and each picture has its own rows', () => {
  expect(rowStepsOf(input)).toBe(40);
  expect(rowStepsOf({ ...input, guidance: 1 })).toBe(20);
  expect(rowStepsOf({ ...input, n: 3 })).toBe(120);
});

test('The price is the mean of what the fleet measured on the same group', () => {
  const measured = fleet(['diffusion.sd@1.512x512', 10], ['diffusion.sd@1.512x512', 30]);
  expect(rowStepsPerSecond(group, measured)).toBe(20);
  expect(priceOf(input, group, measured)).toBe(2000);
});

test('Measurements of another size count in proportion to its pixels, those of another model not at all', () => {
  expect(rowStepsPerSecond(group, fleet(['diffusion.sd@1.256x256', 40]))).toBe(10);
  expect(rowStepsPerSecond(group, fleet(['diffusion.sd@2.512x512', 1000]))).toBe(
    DEFAULT_PIXEL_STEPS_PER_S / (512 * 512),
  );
});

test('Without measurements the price is that of a T4: 61.9 ms for one row at 512x512', () => {
  expect(priceOf({ ...input, steps: 1, guidance: 1 }, group, [])).toBe(62);
  expect(priceOf(input, group, fleet(['diffusion.sd@1.512x512', 0]))).toBe(2476);
});

test('The least price is 1 ms', () => {
  expect(priceOf({ ...input, steps: 1 }, group, fleet(['diffusion.sd@1.512x512', 1e6]))).toBe(1);
});

test('A model that takes the guidance scale as an input has one row, and SDXL costs more per pixel until it is measured', () => {
  const sd = priceOf(input, group, [], { family: 'sd', guidance: 'rows', adapters: [] });
  expect(priceOf(input, group, [], { family: 'lcm', guidance: 'embedded', adapters: [] })).toBe(
    Math.round(sd / 2),
  );
  expect(priceOf(input, group, [], { family: 'sdxl', guidance: 'rows', adapters: [] }) / sd).toBeCloseTo(
    2.1,
    2,
  );
  const measured = fleet(['diffusion.sd@1.512x512', 10]);
  expect(priceOf(input, group, measured, { family: 'sdxl', guidance: 'rows', adapters: [] })).toBe(4000);
});

test('A second pass whose upscaler is a model also costs the tiles of every picture, at the speed of that model', () => {
  const hires = { scale: 2, steps: 20, strength: 0.5, upscaler: 'lanczos', width: 1024, height: 1024 };
  const measured = fleet(
    ['diffusion.sd@1.512x512', 10],
    ['diffusion.sd@1.1024x1024', 10],
    ['transform.larger@2', 5],
  );
  const plain = priceOf({ ...input, n: 2, hires }, group, measured);
  const enlarged = priceOf({ ...input, n: 2, hires: { ...hires, upscaler: 'larger@2' } }, group, measured);
  // 512 pixels are three tiles of 256 that overlap.
  expect(enlarged - plain).toBe(((2 * 3 * 3) / 5) * 1000);
});

import { expect, test } from 'vitest';
import { sizesOf } from './sizes.ts';

const limits = {
  min_size: 64,
  max_size: 512,
  size_step: 64,
  max_pixels: 262_144,
  max_steps: 100,
  max_samples: 8,
  max_work: 1e12,
};
const defaults = {
  width: 256,
  height: 256,
  steps: 20,
  guidance: 2,
  sampler: 'ddim',
  prompt_syntax: 'plain',
  clip_skip: 1,
} as const;

test('The sizes of a model are each allowed and each different', () => {
  const sizes = sizesOf({ defaults, limits });
  expect(sizes[0]).toEqual({ shape: 'square', width: 256, height: 256 });
  expect(new Set(sizes.map(({ width, height }) => `${width}x${height}`)).size).toBe(sizes.length);
  for (const { width, height } of sizes) {
    expect([width % 64, height % 64]).toEqual([0, 0]);
    expect(width * height).toBeLessThanOrEqual(limits.max_pixels);
    expect(Math.min(width, height)).toBeGreaterThanOrEqual(limits.min_size);
  }
});

test('A model that draws one size has one choice', () => {
  const one = { ...limits, min_size: 256, max_size: 256 };
  expect(sizesOf({ defaults, limits: one })).toEqual([{ shape: 'square', width: 256, height: 256 }]);
});

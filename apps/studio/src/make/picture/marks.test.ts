import { expect, test } from 'vitest';
import { weighMask } from './marks.ts';

const weightsOf = (...pixels: readonly (readonly number[])[]): number[] => {
  const bytes = new Uint8ClampedArray(pixels.flat());
  weighMask(bytes);
  return Array.from(bytes).filter((_, i) => i % 4 === 3);
};

test('A mask without transparency changes what is white, and grey is a weight', () => {
  expect(weightsOf([255, 255, 255, 255], [0, 0, 0, 255], [128, 128, 128, 255])).toEqual([255, 0, 128]);
});

test('A mask with a transparent pixel changes what is transparent, whatever its colours', () => {
  expect(weightsOf([255, 255, 255, 255], [0, 0, 0, 0], [9, 9, 9, 155])).toEqual([0, 255, 100]);
});

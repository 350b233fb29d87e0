import { expect, test } from 'vitest';
import { isMoved, moved, placeOf, UNMOVED, wholeOf } from './frame.ts';

const picture = { width: 256, height: 256 };
const limits = {
  min_size: 64,
  max_size: 512,
  size_step: 64,
  max_pixels: 262_144,
  max_steps: 100,
  max_samples: 8,
  max_work: 1e12,
};

test('An edge moves in the steps of the model, never inwards, and not beyond its largest picture', () => {
  const right = moved('right', 100, picture, UNMOVED, limits);
  expect(right).toEqual({ ...UNMOVED, right: 128 });
  expect(moved('left', 999, picture, right, limits).left).toBe(128);
  expect(moved('right', -50, picture, right, limits)).toEqual(UNMOVED);
  expect([isMoved(right), isMoved(UNMOVED)]).toEqual([true, false]);
});

test('A picture that is larger than the model draws still gets more around it, and is then drawn smaller', () => {
  const photo = { width: 1000, height: 600 };
  expect(moved('top', 300, photo, UNMOVED, limits).top).toBe(320);
});

test('The picture keeps its place and its shape in what is drawn around it', () => {
  const expand = { ...UNMOVED, left: 64, bottom: 256 };
  expect(wholeOf(picture, expand)).toEqual({ width: 320, height: 512 });
  expect(placeOf(picture, expand)).toEqual({ left: '20%', top: '0%', width: '80%', height: '50%' });
});

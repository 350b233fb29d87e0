import { expect, test } from 'vitest';
import { latentMask, MaskedLatent } from './masked-latent.ts';

const CHANNELS = 4;
const SIZE = { height: 8, width: 8 };
const LEVEL = { picture: 0.6, noise: 0.8 };

const wave = (length: number, step: number): Float32Array =>
  Float32Array.from({ length }, (_, i) => Math.sin(i * step));

test.each([
  ['nothing but what is kept', () => 0],
  ['nothing but what is drawn', () => 1],
  ['one value after the other', (i: number) => i % 2],
  ['parts with soft edges', (i: number) => [0, 0, 0.25, 0.5, 1, 1, 0.75, 0][i % 8]],
])('Each value of a latent is as its mask says, for a mask of %s', (_, weightAt) => {
  const mask = Float32Array.from({ length: SIZE.height * SIZE.width }, (_, i) => weightAt(i));
  const length = CHANNELS * mask.length;
  const [original, noise, latent] = [0.1, 0.37, 0.71].map((step) => wave(length, step));
  const expected = latent.map((value, i) => {
    const weight = mask[i % mask.length];
    return weight * value + (1 - weight) * (LEVEL.picture * original[i] + LEVEL.noise * noise[i]);
  });
  new MaskedLatent(mask, original, noise).keepOriginal(latent, LEVEL);
  for (const [i, value] of expected.entries()) expect(latent[i]).toBeCloseTo(value, 6);
});

test('A value of the latent has the weight of the pixel at its upper left', () => {
  const picture = { height: 64, width: 64 };
  const mask = Uint8Array.from({ length: 64 * 64 }, (_, i) => (i % 64 === 8 ? 255 : 0));
  const weights = latentMask(mask, picture, SIZE);
  expect([...weights.subarray(0, 8)]).toEqual([0, 1, 0, 0, 0, 0, 0, 0]);
});

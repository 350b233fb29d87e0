import { expect, test } from 'vitest';
import { resizePixels, resizeValues } from './resize.ts';

test.each([
  [
    { height: 4, width: 6 },
    [
      1, 0.25, -1.25, -0.5, 2.5, 4, 0.875, 0.78125, 0.59375, 1.0625, 2.1875, 2.75, 0.625, 1.84375, 4.28125,
      4.1875, 1.5625, 0.25, 0.5, 2.375, 6.125, 5.75, 1.25, -1,
    ],
  ],
  [{ height: 3, width: 4 }, [1, -0.875, 0.25, 4, 0.75, 2.15625, 2.4375, 1.5, 0.5, 5.1875, 4.625, -1]],
])(
  'A latent becomes larger with the values of bilinear interpolation in torch: $height x $width',
  (size, wanted) => {
    const latent = Float32Array.of(1, -2, 4, 0.5, 8, -1);
    expect([...resizeValues(latent, [1, 2, 3], size)]).toEqual(wanted);
  },
);

test('Channels of a latent do not mix', () => {
  const latent = Float32Array.of(1, 1, 1, 1, -3, -3, -3, -3);
  const enlarged = resizeValues(latent, [2, 2, 2], { height: 4, width: 4 });
  expect([...enlarged]).toEqual([...Array(16).fill(1), ...Array(16).fill(-3)]);
});

test('Pixels become larger with the values of Lanczos in Pillow', () => {
  const pixels = Uint8Array.of(
    ...[0, 0, 0, 80, 0, 0, 160, 0, 0, 240, 0, 0, 0, 120, 0, 80, 120, 37, 160, 120, 74, 240, 120, 111],
    ...[0, 240, 0, 80, 240, 74, 160, 240, 148, 240, 240, 222],
  );
  const wanted = [
    [0, 0, 0, 30, 0, 0, 95, 0, 0, 145, 0, 0, 210, 0, 0, 245, 0, 0],
    [0, 27, 0, 30, 27, 3, 95, 27, 10, 145, 27, 15, 210, 27, 22, 245, 27, 25],
    [0, 120, 0, 30, 120, 14, 95, 120, 44, 145, 120, 67, 210, 120, 97, 245, 120, 113],
    [0, 213, 0, 30, 213, 25, 95, 213, 78, 145, 213, 119, 210, 213, 172, 245, 213, 201],
    [0, 249, 0, 30, 249, 29, 95, 249, 91, 145, 249, 139, 210, 249, 201, 245, 249, 236],
  ];
  const enlarged = resizePixels(pixels, { height: 3, width: 4 }, { height: 5, width: 6 }, 'lanczos');
  expect([...enlarged]).toEqual(wanted.flat());
});

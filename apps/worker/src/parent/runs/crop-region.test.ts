import { expect, test } from 'vitest';
import { cropRegion } from './crop-region.ts';

const PICTURE = { width: 128, height: 96 };
const SQUARE = { width: 64, height: 64 };

/** White from the first to the last of these pixels. */
function mask(left: number, top: number, right: number, bottom: number): Uint8Array {
  return Uint8Array.from({ length: PICTURE.width * PICTURE.height }, (_, i) => {
    const [x, y] = [i % PICTURE.width, Math.floor(i / PICTURE.width)];
    return x >= left && x <= right && y >= top && y <= bottom ? 255 : 0;
  });
}

// What diffusers 0.39 gives for these masks: VaeImageProcessor.get_crop_region.
test.each([
  ['in the middle', mask(60, 40, 69, 49), SQUARE, 8, { left: 52, top: 32, width: 26, height: 26 }],
  ['wide', mask(20, 40, 99, 49), SQUARE, 8, { left: 12, top: 0, width: 96, height: 96 }],
  ['high', mask(60, 10, 63, 79), SQUARE, 4, { left: 23, top: 6, width: 78, height: 78 }],
  ['at the right edge', mask(120, 10, 127, 79), SQUARE, 4, { left: 50, top: 6, width: 78, height: 78 }],
  ['at the lower edge', mask(40, 90, 99, 95), SQUARE, 4, { left: 36, top: 28, width: 68, height: 68 }],
  [
    'for a wide drawing',
    mask(60, 40, 69, 49),
    { width: 128, height: 64 },
    8,
    { left: 39, top: 32, width: 52, height: 26 },
  ],
  ['everywhere', mask(0, 0, 127, 95), SQUARE, 0, { left: 0, top: 0, width: 128, height: 96 }],
])(
  'The part around a mask %s has its padding and the ratio of the drawing',
  (_, pixels, drawn, padding, region) => {
    expect(cropRegion(pixels, PICTURE, drawn, padding)).toEqual(region);
  },
);

import sharp from 'sharp';
import { expect, test } from 'vitest';
import { hasAlpha } from './mask-file.ts';

const picture = (channels: 3 | 4) =>
  sharp({ create: { width: 8, height: 8, channels, background: { r: 255, g: 255, b: 255, alpha: 0.5 } } });

test('A PNG has an alpha channel in colour, in grey and in a palette, and a JPEG, a WebP and what is cut short have none', async () => {
  expect(hasAlpha(await picture(4).png().toBuffer())).toBe(true);
  expect(hasAlpha(await picture(4).toColourspace('b-w').png().toBuffer())).toBe(true);
  expect(hasAlpha(await picture(4).png({ palette: true }).toBuffer())).toBe(true);
  const opaque = await picture(3).png().toBuffer();
  expect(hasAlpha(opaque)).toBe(false);
  expect(hasAlpha(await picture(3).png({ palette: true }).toBuffer())).toBe(false);
  expect(hasAlpha(await picture(3).jpeg().toBuffer())).toBe(false);
  expect(hasAlpha(await picture(4).webp().toBuffer())).toBe(false);
  for (const length of [0, 8, 20, 30, 36]) expect(hasAlpha(opaque.subarray(0, length))).toBe(false);
});

import sharp from 'sharp';
import { expect, test } from 'vitest';
import { hasAlpha, pictureSize } from './picture-header.ts';

const picture = (options: object = {}) =>
  sharp({ create: { width: 100, height: 40, channels: 3, background: '#39c', ...options } });
const size = { width: 100, height: 40 };

test('The size is in the header of a PNG, JPEG and WebP file, lossy, lossless and with transparency', async () => {
  const files = [
    picture().png(),
    picture().jpeg(),
    picture().jpeg({ progressive: true }),
    picture().webp(),
    picture().webp({ lossless: true }),
    picture({ channels: 4, background: { r: 1, g: 2, b: 3, alpha: 0.5 } }).webp(),
  ];
  for (const file of files) expect(pictureSize(await file.toBuffer())).toEqual(size);
});

test('A picture that its EXIF orientation turns has the size of the turned one', async () => {
  const turned = async (orientation: number) =>
    pictureSize(await picture().withMetadata({ orientation }).jpeg().toBuffer());
  expect(await turned(3)).toEqual(size);
  expect(await turned(6)).toEqual({ width: 40, height: 100 });
  // As sharp, which turns it when a worker reads it.
  const turnedPng = await picture().withMetadata({ orientation: 6 }).png().toBuffer();
  const { info } = await sharp(turnedPng, { autoOrient: true }).toBuffer({ resolveWithObject: true });
  expect(info).toMatchObject({ width: 40, height: 100 });
  expect(pictureSize(turnedPng)).toEqual({ width: 40, height: 100 });
  // That of a WebP is behind its pixels.
  expect(pictureSize(await picture().withMetadata({ orientation: 6 }).webp().toBuffer())).toBeUndefined();
});

test('A file that is no picture or ends early has no size', async () => {
  const png = await picture().png().toBuffer();
  const jpeg = await picture().jpeg().toBuffer();
  const others = [Buffer.from('GIF89a'), Buffer.alloc(0), png.subarray(0, 20), jpeg.subarray(0, 30)];
  for (const file of others) expect(pictureSize(file)).toBeUndefined();
});

const alpha = (channels: 3 | 4) =>
  picture({ width: 8, height: 8, channels, background: { r: 255, g: 255, b: 255, alpha: 0.5 } });

test('A PNG has an alpha channel in colour, in grey and in a palette, and a JPEG, a WebP and what is cut short have none', async () => {
  expect(hasAlpha(await alpha(4).png().toBuffer())).toBe(true);
  expect(hasAlpha(await alpha(4).toColourspace('b-w').png().toBuffer())).toBe(true);
  expect(hasAlpha(await alpha(4).png({ palette: true }).toBuffer())).toBe(true);
  const opaque = await alpha(3).png().toBuffer();
  expect(hasAlpha(opaque)).toBe(false);
  expect(hasAlpha(await alpha(3).png({ palette: true }).toBuffer())).toBe(false);
  expect(hasAlpha(await alpha(3).jpeg().toBuffer())).toBe(false);
  expect(hasAlpha(await alpha(4).webp().toBuffer())).toBe(false);
  for (const length of [0, 8, 20, 30, 36]) expect(hasAlpha(opaque.subarray(0, length))).toBe(false);
});

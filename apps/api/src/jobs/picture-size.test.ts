import sharp from 'sharp';
import { expect, test } from 'vitest';
import { pictureSize } from './picture-size.ts';

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
});

test('A file that is no picture or ends early has no size', async () => {
  const png = await picture().png().toBuffer();
  const jpeg = await picture().jpeg().toBuffer();
  const others = [Buffer.from('GIF89a'), Buffer.alloc(0), png.subarray(0, 20), jpeg.subarray(0, 30)];
  for (const file of others) expect(pictureSize(file)).toBeUndefined();
});

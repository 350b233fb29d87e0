import { deflateSync } from 'node:zlib';
import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import { inspectPicture, isLatentFile, readPicture } from './picture-input.ts';

const RED = { r: 255, g: 0, b: 0 };
const SIZE = { width: 16, height: 8 };

/** Left half red, right half blue. */
const halves = (width: number, height: number) =>
  sharp({ create: { width, height, channels: 3, background: RED } }).composite([
    {
      input: { create: { width: width / 2, height, channels: 3, background: '#00f' } },
      left: width / 2,
      top: 0,
    },
  ]);

const colourAt = (pixels: Uint8Array, x: number, y: number, { width } = SIZE): number[] => [
  ...pixels.subarray((y * width + x) * 3, (y * width + x) * 3 + 3),
];

test.each(['png', 'webp', 'jpeg'] as const)(
  'A %s file is stretched to the size of the job',
  async (format) => {
    const file = await halves(100, 100).toFormat(format, { quality: 100 }).toBuffer();
    const pixels = await readPicture(file, SIZE);
    expect(pixels).toHaveLength(SIZE.width * SIZE.height * 3);
    const [left, right] = [colourAt(pixels, 2, 4), colourAt(pixels, 13, 4)];
    expect(left[0]).toBeGreaterThan(240);
    expect(left[2]).toBeLessThan(15);
    expect(right[0]).toBeLessThan(15);
    expect(right[2]).toBeGreaterThan(240);
  },
);

test('A picture of the size of the job keeps every pixel', async () => {
  const raw = Uint8Array.from({ length: 16 * 8 * 3 }, (_, i) => (i * 37) % 256);
  const file = await sharp(raw, { raw: { ...SIZE, channels: 3 } })
    .png()
    .toBuffer();
  expect(await readPicture(file, SIZE)).toEqual(raw);
});

test('The file of a latent is told from a JPEG whose first table has the same byte', () => {
  const [latent, jpeg] = ['00000000', 'ffd8ffdb00430010'].map((start) => Buffer.from(`${start}7b22`, 'hex'));
  expect(isLatentFile(Buffer.concat([Buffer.alloc(4), latent]))).toBe(true);
  expect(jpeg[8]).toBe('{'.charCodeAt(0));
  expect(isLatentFile(jpeg)).toBe(false);
});

test('A picture is turned as its EXIF orientation says', async () => {
  // Orientation 6: the camera was turned, and the left side is shown at the top.
  const file = await halves(40, 40).jpeg({ quality: 100 }).withMetadata({ orientation: 6 }).toBuffer();
  const pixels = await readPicture(file, { width: 16, height: 16 });
  const size = { width: 16, height: 16 };
  expect(colourAt(pixels, 2, 2, size)[0]).toBeGreaterThan(240);
  expect(colourAt(pixels, 13, 2, size)[0]).toBeGreaterThan(240);
  expect(colourAt(pixels, 2, 13, size)[2]).toBeGreaterThan(240);
});

test('Transparent, gray, palette and 16-bit pictures become opaque RGB', async () => {
  const clear = sharp({ create: { width: 8, height: 8, channels: 4, background: { ...RED, alpha: 0 } } });
  expect(colourAt(await readPicture(await clear.png().toBuffer(), SIZE), 3, 3)).toEqual([255, 255, 255]);
  const gray = await sharp({ create: { width: 8, height: 8, channels: 3, background: '#808080' } })
    .toColourspace('b-w')
    .png()
    .toBuffer();
  expect(colourAt(await readPicture(gray, SIZE), 3, 3)).toEqual([128, 128, 128]);
  const palette = await halves(20, 20).png({ palette: true }).toBuffer();
  expect(await readPicture(palette, SIZE)).toHaveLength(SIZE.width * SIZE.height * 3);
  const deep = await sharp(new Uint16Array(8 * 8 * 3).fill(65_535), {
    raw: { width: 8, height: 8, channels: 3 },
  })
    .toColourspace('rgb16')
    .png()
    .toBuffer();
  expect(colourAt(await readPicture(deep, SIZE), 3, 3)).toEqual([255, 255, 255]);
});

/** A PNG that says it has this size, with pixels for none of it. */
function bomb(width: number, height: number): Buffer {
  const chunk = (type: string, data: Buffer): Buffer => {
    const out = Buffer.alloc(12 + data.length);
    out.writeUInt32BE(data.length);
    out.write(type, 4, 'latin1');
    data.copy(out, 8);
    return out;
  };
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width);
  header.writeUInt32BE(height, 4);
  header.set([1, 0, 0, 0, 0], 8);
  const zeros = deflateSync(Buffer.alloc(1_000_000));
  const signature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    chunk('IDAT', zeros),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

describe('refused, with the field named', () => {
  const SVG = `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><image href="file:///etc/hostname"/></svg>`;
  const gif = () => halves(8, 8).gif().toBuffer();
  const cut = async () => (await halves(64, 64).png().toBuffer()).subarray(0, 120);
  test.each([
    ['an SVG', async () => Buffer.from(SVG), 'PNG, JPEG or WebP'],
    ['a GIF', gif, 'PNG, JPEG or WebP'],
    ['an empty file', async () => Buffer.alloc(0), 'PNG, JPEG or WebP'],
    [
      'a text that begins like a PNG',
      async () => Buffer.from('\x89PNG\r\n\x1a\nno', 'latin1'),
      'cannot be read',
    ],
    ['a file that ends in the middle', cut, 'cannot be read'],
    ['a decompression bomb of 900 million pixels', async () => bomb(30_000, 30_000), 'pixels'],
  ])('%s', async (_, file, reason) => {
    await expect(readPicture(await file(), SIZE)).rejects.toMatchObject({
      code: 'invalid-input',
      message: expect.stringContaining(reason),
      problems: [{ pointer: '/input/image' }],
    });
  });

  test('a mask of more than 64 million pixels', async () => {
    await expect(inspectPicture(bomb(8001, 8000), 'mask')).rejects.toMatchObject({
      code: 'invalid-input',
      message: expect.stringContaining('more than 64000000 pixels'),
      problems: [{ pointer: '/input/mask' }],
    });
  });
});

import sharp from 'sharp';
import { expect, test } from 'vitest';
import { type MaskOptions, readMask } from './mask-input.ts';
import { inspectPicture } from './picture-input.ts';

const SIZE = { width: 4, height: 2 };
const raw = (channels: 1 | 2 | 3 | 4, values: readonly number[]) =>
  sharp(Uint8Array.from(values), { raw: { ...SIZE, channels } });

const read = async (file: Uint8Array, options: Partial<MaskOptions> = {}, size = SIZE): Promise<number[]> => {
  const info = await inspectPicture(file, 'mask');
  return [...(await readMask(file, info, size, { picture: SIZE, blur: 0, ...options }))];
};

const each = (pixel: (i: number) => readonly number[]): number[] =>
  Array.from({ length: 8 }, (_, i) => pixel(i)).flat();

test('What is transparent is drawn again, whatever its colour, as OpenAI has it', async () => {
  const file = await raw(
    4,
    each((i) => [255, 255, 255, [255, 0, 128][i] ?? 255]),
  )
    .png()
    .toBuffer();
  expect(await read(file)).toEqual([0, 255, 127, 0, 0, 0, 0, 0]);
});

test('With nothing transparent, white is drawn again and a grey value is a weight, with and without an alpha channel', async () => {
  const greys = [255, 0, 128, 64, 0, 0, 0, 254];
  const files = [
    raw(1, greys).toColourspace('b-w').png(),
    raw(
      3,
      each((i) => [greys[i], greys[i], greys[i]]),
    ).png(),
    raw(
      4,
      each((i) => [greys[i], greys[i], greys[i], 255]),
    ).png(),
  ];
  for (const file of files) expect(await read(await file.toBuffer())).toEqual(greys);
  // What may have been compressed with losses has no greys so near to black and white.
  const webp = await raw(1, greys).webp({ lossless: true }).toBuffer();
  expect(await read(webp)).toEqual(greys.map((grey) => (grey === 254 ? 255 : grey)));
});

test('A mask that was compressed with losses is black and white again where it was', async () => {
  const size = { width: 64, height: 64 };
  const marks = Uint8Array.from({ length: 64 * 64 }, (_, i) => (i % 64 >= 16 && i % 64 < 40 ? 255 : 0));
  const drawn = sharp(marks, { raw: { ...size, channels: 1 } });
  for (const file of [drawn.clone().jpeg({ quality: 60 }), drawn.clone().webp({ quality: 60 })]) {
    const mask = await read(await file.toBuffer(), { picture: size }, size);
    // Edges may be grey.
    const isSure = (x: number): boolean => x < 12 || (x >= 20 && x < 36) || x >= 44;
    expect(mask.findIndex((weight, i) => isSure(i % 64) && weight !== marks[i])).toBe(-1);
  }
});

test('A mask of 16 bits is read in 8', async () => {
  const deep = await sharp(Uint16Array.from([65_535, 0, 32_896, 0, 0, 0, 0, 65_535]), {
    raw: { ...SIZE, channels: 1 },
  })
    .toColourspace('grey16')
    .png()
    .toBuffer();
  expect((await sharp(deep).metadata()).depth).toBe('ushort');
  expect(await read(deep)).toEqual([255, 0, 128, 0, 0, 0, 0, 255]);
});

test('A mask is stretched with its picture, and leaves no trace around what it marks', async () => {
  const file = await raw(1, [255, 0, 0, 0, 255, 0, 0, 0]).png().toBuffer();
  const wide = await read(file, {}, { width: 8, height: 2 });
  expect(wide.slice(0, 8)).toEqual(wide.slice(0, 8).toSorted((a, b) => b - a));
  expect([wide[0], wide[2] > 0, ...wide.slice(3, 8)]).toEqual([255, true, 0, 0, 0, 0, 0]);
});

test('Blur softens the edge, and what is far from it stays as it was', async () => {
  const size = { width: 64, height: 8 };
  const values = Uint8Array.from({ length: 512 }, (_, i) => (i % 64 < 32 ? 255 : 0));
  const file = await sharp(values, { raw: { ...size, channels: 1 } })
    .png()
    .toBuffer();
  const mask = await read(file, { picture: size, blur: 3 }, size);
  expect([mask[0], mask[63]]).toEqual([255, 0]);
  expect(mask.slice(30, 34)).toEqual(mask.slice(30, 34).toSorted((a, b) => b - a));
  expect(mask[31] + mask[32]).toBeGreaterThan(250);
  expect(mask[32]).toBeGreaterThan(80);
});

const frames = async (): Promise<Buffer> => {
  const stills = [1, 2].map((i) =>
    sharp({ create: { ...SIZE, channels: 3, background: `#${i}00` } })
      .png()
      .toBuffer(),
  );
  return sharp(await Promise.all(stills), { join: { animated: true } })
    .webp({ lossless: true })
    .toBuffer();
};

/** A PNG that says that it has two frames, as it does after its header; readers of PNG alone see the first. */
const animatedPng = async (): Promise<Buffer> => {
  const still = await raw(
    1,
    each((i) => [i * 30]),
  )
    .png()
    .toBuffer();
  const header = 33;
  const animation = Buffer.from('000000086163544c0000000200000000f38d9370', 'hex');
  return Buffer.concat([still.subarray(0, header), animation, still.subarray(header)]);
};

test.each<[what: string, file: () => Promise<Buffer>, options: Partial<MaskOptions>, reason: string]>([
  [
    'A mask of another size than its picture',
    () =>
      raw(
        1,
        each(() => [255]),
      )
        .png()
        .toBuffer(),
    { picture: { width: 8, height: 4 } },
    'has 4x2 pixels, and the image 8x4',
  ],
  [
    'A mask that is black',
    () =>
      raw(
        1,
        each(() => [0]),
      )
        .png()
        .toBuffer(),
    {},
    'nothing to change',
  ],
  [
    'A mask that is black and opaque',
    () =>
      raw(
        4,
        each(() => [0, 0, 0, 255]),
      )
        .png()
        .toBuffer(),
    {},
    'nothing to change',
  ],
  ['An animated mask', frames, {}, 'is animated'],
  ['An animated PNG as a mask', animatedPng, {}, 'is animated'],
])('%s is refused with the field named', async (_, file, options, reason) => {
  await expect(read(await file(), options)).rejects.toMatchObject({
    code: 'invalid-input',
    message: expect.stringContaining(reason),
    problems: [{ pointer: '/input/mask' }],
  });
});

test('An inverted mask keeps what it marks, and one that marks all of the picture is refused', async () => {
  const file = (values: readonly number[]) => raw(1, values).png().toBuffer();
  const half = await file([255, 255, 0, 0, 255, 255, 64, 0]);
  expect(await read(half, { isInverted: true })).toEqual([0, 0, 255, 255, 0, 0, 191, 255]);
  const white = await file(Array(8).fill(255));
  await expect(read(white, { isInverted: true })).rejects.toThrow('it is inverted, and all of it is marked');
});

test('A mask of which the blur or the size of the job leaves nothing is refused with the field named', async () => {
  const size = { width: 200, height: 100 };
  const dot = await sharp(
    Uint8Array.from({ length: 20_000 }, (_, i) => (i === 10_101 ? 255 : 0)),
    { raw: { ...size, channels: 1 } },
  )
    .png()
    .toBuffer();
  const refused = (why: string) => ({
    code: 'invalid-input',
    problems: [{ pointer: '/input/mask', detail: `marks nothing to change: ${why}` }],
  });
  await expect(read(dot, { picture: size, blur: 64 }, size)).rejects.toMatchObject(
    refused('the blur of 64 pixels leaves nothing of it'),
  );
  await expect(read(dot, { picture: size }, SIZE)).rejects.toMatchObject(
    refused('nothing of it is left in 4x2 pixels'),
  );
});

import { pathToFileURL } from 'node:url';
import type { TextToImageInput } from '@lehr/shared';
import sharp from 'sharp';
import { expect, onTestFinished, test } from 'vitest';
import { bundle } from '../../../../../test/support/bundle.ts';
import { openEdit, type ReadField } from './edit.ts';
import { editWork, type Pixels } from './edit-work.ts';
import { EditWorker } from './edit-worker.ts';
import { inspectPicture, type PixelSize, refusedPicture } from './picture-input.ts';

/** What is drawn. */
const GREEN = [0, 255, 0];

const input = (fields: Partial<TextToImageInput>): TextToImageInput =>
  ({ width: 64, height: 64, seed: 1, mask_blur: 0, mask_fill: 'original', ...fields }) as TextToImageInput;

/** Any source: the tests give the files. */
const mask = { kind: 'url', url: 'https://x.example/mask.png' } as const;

/** No two pixels near one another are alike. */
const speckles = ({ width, height }: PixelSize): Uint8Array =>
  Uint8Array.from({ length: width * height * 3 }, (_, i) => (i * 37 + (i >> 6) * 11) % 251);

const png = (data: Uint8Array, size: PixelSize, channels: 1 | 3): Promise<Buffer> =>
  sharp(data, { raw: { ...size, channels } })
    .png()
    .toBuffer();

/** White in a rectangle. */
const rectangle = ({ width, height }: PixelSize, isWhite: (x: number, y: number) => boolean): Uint8Array =>
  Uint8Array.from({ length: width * height }, (_, i) =>
    isWhite(i % width, Math.floor(i / width)) ? 255 : 0,
  );

interface Files {
  readonly image: Uint8Array;
  readonly mask?: Uint8Array;
}

/** Counts how often each file is fetched. */
function reader(files: Files): { read: ReadField; fetched: string[] } {
  const fetched: string[] = [];
  const read: ReadField = async (field, decode, { file } = {}) => {
    if (!file) fetched.push(field);
    const bytes = file ?? files[field] ?? new Uint8Array();
    return decode(bytes, await inspectPicture(bytes, field));
  };
  return { read, fetched };
}

const drawn = ({ width, height }: PixelSize): Pixels => ({
  width,
  height,
  data: Uint8Array.from({ length: width * height * 3 }, (_, i) => GREEN[i % 3]),
});

async function edited(fields: Partial<TextToImageInput>, files: Files) {
  const { read, fetched } = reader(files);
  const edit = await openEdit(input(fields), { read, work: editWork });
  const pixels = await edit.finish(drawn(input(fields)), async (all) => all);
  const at = (x: number, y: number): number[] => {
    const from = (y * pixels.width + x) * 3;
    return [...pixels.data.subarray(from, from + 3)];
  };
  const { image = new Uint8Array(), mask: marks } = edit.start;
  return { start: { image, mask: marks }, pixels, at, fetched };
}

test('Pixels outside of the mask are those of the picture, and grey ones between both', async () => {
  const size = { width: 64, height: 64 };
  const image = speckles(size);
  const marks = rectangle(size, (x) => x < 32);
  marks[40] = 51;
  const { pixels, at, fetched } = await edited(
    { mask },
    { image: await png(image, size, 3), mask: await png(marks, size, 1) },
  );
  for (let i = 0; i < marks.length; i++) {
    const own = [...image.subarray(3 * i, 3 * i + 3)];
    const mixed = own.map((value, k) => Math.round((value * 204 + GREEN[k] * 51) / 255));
    const expected = { 0: own, 51: mixed, 255: GREEN }[marks[i]];
    expect(at(i % 64, Math.floor(i / 64))).toEqual(expected);
  }
  expect(pixels).toMatchObject(size);
  expect(fetched).toEqual(['image', 'mask']);
});

test('Only the part around the mask is drawn, and put back into the whole picture, of which no other pixel changes', async () => {
  const size = { width: 300, height: 200 };
  const image = speckles(size);
  const isMarked = (x: number, y: number): boolean => x >= 200 && x < 230 && y >= 50 && y < 90;
  const { start, pixels, fetched } = await edited(
    { mask, only_masked: { padding: 10 } },
    { image: await png(image, size, 3), mask: await png(rectangle(size, isMarked), size, 1) },
  );
  expect([start.image.length, start.mask?.length]).toEqual([64 * 64 * 3, 64 * 64]);
  // 60 pixels of the picture are 64 of the drawing.
  expect(start.mask?.filter((weight) => weight === 255).length).toBeGreaterThan(30 * 40);
  expect(pixels).toMatchObject(size);
  const marked = rectangle(size, isMarked);
  const expected = image.map((value, i) => (marked[Math.floor(i / 3)] === 0 ? value : GREEN[i % 3]));
  expect(pixels.data.length).toBe(expected.length);
  expect(pixels.data.findIndex((value, i) => value !== expected[i])).toBe(-1);
  expect(fetched).toEqual(['image', 'mask']);
});

test('The part around the mask is that of the picture as it is shown, which its EXIF orientation turns', async () => {
  const size = { width: 300, height: 200 };
  const shown = { width: 200, height: 300 };
  const blue = sharp({ create: { ...size, channels: 3, background: '#00f' } }).composite([
    { input: { create: { width: 40, height: 40, channels: 3, background: '#f00' } }, left: 0, top: 160 },
  ]);
  // Turned to the right: what was at the left below is at the left above.
  const image = await blue.withMetadata({ orientation: 6 }).jpeg({ quality: 100 }).toBuffer();
  const marks = rectangle(shown, (x, y) => x >= 5 && x < 35 && y >= 5 && y < 35);
  const { start, at } = await edited(
    { mask, only_masked: { padding: 5 } },
    { image, mask: await png(marks, shown, 1) },
  );
  expect(start.image[(32 * 64 + 32) * 3]).toBeGreaterThan(240);
  expect(at(20, 20)).toEqual(GREEN);
  expect(at(190, 290)[2]).toBeGreaterThan(240);
});

test('More is drawn around a picture, which keeps its pixels, and what is added begins as its mirror image', async () => {
  const size = { width: 48, height: 64 };
  const image = speckles(size);
  const { start, at } = await edited(
    { expand: { left: 16, right: 0, top: 0, bottom: 0 } },
    { image: await png(image, size, 3) },
  );
  const own = (x: number, y: number): number[] => [...image.subarray((y * 48 + x) * 3, (y * 48 + x) * 3 + 3)];
  const begun = (x: number, y: number): number[] => [
    ...start.image.subarray((y * 64 + x) * 3, (y * 64 + x) * 3 + 3),
  ];
  for (const y of [0, 31, 63]) {
    for (let x = 0; x < 48; x++) expect(at(16 + x, y)).toEqual(own(x, y));
    for (let x = 0; x < 16; x++) expect(at(x, y)).toEqual(GREEN);
    for (let x = 0; x < 16; x++) expect(begun(15 - x, y)).toEqual(own(x, y));
  }
});

test('What is added to a picture begins as in the fixture that diffusers draws around', async () => {
  const fixture = (name: string): string =>
    new URL(`../../../../../lab/real/diffusion/fixtures/sd15-inpaint/${name}.png`, import.meta.url).pathname;
  const [wide, around] = await Promise.all(
    ['wide', 'around'].map((name) => sharp(fixture(name)).raw().toBuffer()),
  );
  const image = await sharp(fixture('wide'))
    .extract({ left: 16, top: 8, width: 40, height: 56 })
    .png()
    .toBuffer();
  const { start } = await edited({ expand: { left: 16, right: 8, top: 8, bottom: 0 } }, { image });
  expect(Buffer.from(start.image).equals(wide)).toBe(true);
  expect(start.mask?.every((weight, i) => weight === around[(i * around.length) / (64 * 64)])).toBe(true);
});

test('A picture is stretched with what is added when the job has another size', async () => {
  const size = { width: 100, height: 100 };
  const { start } = await edited(
    { expand: { left: 50, right: 50, top: 0, bottom: 100 } },
    { image: await png(speckles(size), size, 3) },
  );
  const kept = (start.mask ?? new Uint8Array()).filter((weight) => weight === 0);
  expect(kept.length).toBe(32 * 32);
  expect([
    start.mask?.[16],
    start.mask?.[15],
    start.mask?.[31 * 64 + 47],
    start.mask?.[32 * 64 + 47],
  ]).toEqual([0, 255, 0, 255]);
});

test('The drawing begins at noise under the mask, the same for a seed, and ends with the kept pixels of the picture', async () => {
  const size = { width: 64, height: 64 };
  const image = speckles(size);
  const marks = rectangle(size, (x) => x < 32);
  const files = { image: await png(image, size, 3), mask: await png(marks, size, 1) };
  const [one, again, other] = await Promise.all(
    [1, 1, 2].map((seed) => edited({ mask, seed, mask_fill: 'noise' }, files)),
  );
  expect(one.start.image).toEqual(again.start.image);
  expect(one.start.image).not.toEqual(other.start.image);
  const kept = (pixels: Uint8Array): Uint8Array => pixels.filter((_, i) => marks[Math.floor(i / 3)] === 0);
  expect(kept(one.start.image)).toEqual(kept(image));
  expect(kept(one.pixels.data)).toEqual(kept(image));
  const mean = one.start.image.filter((_, i) => marks[Math.floor(i / 3)] === 255);
  expect(Math.abs(mean.reduce((sum, value) => sum + value, 0) / mean.length - 127.5)).toBeLessThan(5);
});

test('A part of a latent is kept, as far as nothing of it has to be pixels', async () => {
  const size = { width: 64, height: 64 };
  const image = Buffer.from(`\u0001${'\0'.repeat(7)}{}`, 'latin1');
  const marks = rectangle(size, (x) => x < 32);
  const files = { image, mask: await png(marks, size, 1) };
  const { read } = reader(files);
  const edit = await openEdit(input({ mask }), { read, work: editWork });
  expect(edit.start).toEqual({ latent: image, mask: marks });
  const { data } = await edit.finish(drawn(size), async (pixels) => pixels);
  expect(data).toEqual(drawn(size).data);
  const refused = [
    { mask, only_masked: { padding: 0 } },
    { mask, hires: LARGER },
    { mask, mask_fill: 'noise' as const },
    { expand: { left: 8, right: 0, top: 0, bottom: 0 } },
  ];
  for (const fields of refused) {
    await expect(edited(fields, files)).rejects.toMatchObject({
      problems: [{ pointer: '/input/image', detail: expect.stringContaining('is a latent') }],
    });
  }
});

/** Twice as large as the job. */
const LARGER = { scale: 2, steps: 4, strength: 0.5, upscaler: 'lanczos', width: 128, height: 128 } as const;

test('A second pass keeps the pixels of the picture at its size, of which the file may have more than the job', async () => {
  const size = { width: 128, height: 128 };
  const image = speckles(size);
  const marks = rectangle(size, (x) => x < 63);
  const { read } = reader({ image: await png(image, size, 3), mask: await png(marks, size, 1) });
  const edit = await openEdit(input({ mask, mask_fill: 'noise', hires: LARGER }), { read, work: editWork });
  expect([edit.start.image?.length, edit.start.mask?.length]).toEqual([64 * 64 * 3, 64 * 64]);
  // Noise is where the first pass begins.
  expect(edit.second).toEqual({ image, mask: marks });
  const { data } = await edit.finish(drawn(size), async (pixels) => pixels);
  expect(data).toEqual(image.map((value, i) => (marks[Math.floor(i / 3)] === 0 ? value : GREEN[i % 3])));
});

test('A second pass draws around the picture, or the part around its mask, at its size', async () => {
  const size = { width: 48, height: 64 };
  const around = reader({ image: await png(speckles(size), size, 3) });
  const expand = { left: 16, right: 0, top: 0, bottom: 0 };
  const wide = await openEdit(input({ expand, hires: LARGER }), { ...around, work: editWork });
  const drawnAt = (weights: Uint8Array = new Uint8Array()) =>
    weights.filter((weight) => weight === 255).length;
  expect([drawnAt(wide.start.mask), drawnAt(wide.second?.mask)]).toEqual([16 * 64, 32 * 128]);

  const whole = { width: 300, height: 200 };
  const marks = rectangle(whole, (x, y) => x >= 200 && x < 230 && y >= 50 && y < 90);
  const part = reader({ image: await png(speckles(whole), whole, 3), mask: await png(marks, whole, 1) });
  const edit = await openEdit(input({ mask, only_masked: { padding: 10 }, hires: LARGER }), {
    ...part,
    work: editWork,
  });
  expect([edit.second?.image.length, edit.second?.mask.length]).toEqual([128 * 128 * 3, 128 * 128]);
  const pixels = await edit.finish(drawn({ width: 128, height: 128 }), async (all) => all);
  expect(pixels).toMatchObject(whole);
  expect(part.fetched).toEqual(['image', 'mask']);
});

test('A picture that is too large to be kept whole is refused, with the field named', async () => {
  const size = { width: 4096, height: 4097 };
  const image = await sharp({ create: { ...size, channels: 3, background: '#fff' } })
    .png()
    .toBuffer();
  await expect(edited({ mask, only_masked: { padding: 0 } }, { image })).rejects.toEqual(
    refusedPicture('image', 'has more than 16777216 pixels, the most with only_masked'),
  );
});

async function thread(): Promise<EditWorker> {
  const work = new EditWorker(pathToFileURL(await bundle('./edit-thread.ts', import.meta.url)));
  onTestFinished(() => work.close());
  return work;
}

test('The thread of edits paints the part that was drawn into a picture of 16 million pixels', {
  tags: ['long'],
  timeout: 120_000,
}, async () => {
  const size = { width: 4096, height: 4096 };
  const colour = { r: 90, g: 120, b: 30 };
  const image = await sharp({ create: { ...size, channels: 3, background: colour } })
    .png()
    .toBuffer();
  const marks = await sharp({ create: { ...size, channels: 3, background: '#000' } })
    .composite([
      { input: { create: { width: 4000, height: 4000, channels: 3, background: '#fff' } }, left: 8, top: 8 },
    ])
    .png()
    .toBuffer();
  const work = await thread();
  const { read } = reader({ image, mask: marks });
  const edit = await openEdit(input({ mask, only_masked: { padding: 8 } }), { read, work });
  const { data } = await edit.finish(drawn({ width: 64, height: 64 }), async (pixels) => pixels);
  const at = (x: number, y: number): number[] => [
    ...data.subarray((y * 4096 + x) * 3, (y * 4096 + x) * 3 + 3),
  ];
  expect([at(7, 7), at(8, 8), at(2000, 2000), at(4007, 4007), at(4008, 4008)]).toEqual([
    [colour.r, colour.g, colour.b],
    ...[GREEN, GREEN, GREEN],
    [colour.r, colour.g, colour.b],
  ]);
});

test('What the thread refuses names its field, and it goes on with the next edit', async () => {
  const work = await thread();
  const size = { width: 64, height: 64 };
  const image = await png(speckles(size), size, 3);
  const [black, half] = [() => false, (x: number) => x < 32].map((isWhite) => rectangle(size, isWhite));
  const edit = async (marks: Uint8Array) =>
    openEdit(input({ mask }), { ...reader({ image, mask: await png(marks, size, 1) }), work });
  await expect(edit(black)).rejects.toMatchObject({
    code: 'invalid-input',
    problems: [{ pointer: '/input/mask' }],
  });
  const { data } = await (await edit(half)).finish(drawn(size), async (pixels) => pixels);
  expect([...data.subarray(0, 3)]).toEqual(GREEN);
});

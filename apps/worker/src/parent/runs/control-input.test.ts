import type { Control } from '@lehr/shared';
import sharp from 'sharp';
import { expect, test } from 'vitest';
import { readControls } from './control-input.ts';
import { editWork } from './edit-work.ts';
import { inspectPicture } from './picture-input.ts';

const image = { kind: 'url', url: 'https://x.example/a.png' } as const;
const control = (fields: Partial<Control> = {}): Control => ({
  ...{ name: 'edges', image, scale: 1, start: 0, end: 1 },
  ...fields,
});
const SIZE = { width: 24, height: 16 };

/** Left half black, right half white. */
const halves = (width: number, height: number): Promise<Buffer> => {
  const data = Uint8Array.from({ length: width * height }, (_, i) => (i % width < width / 2 ? 0 : 255));
  return sharp(data, { raw: { width, height, channels: 1 } })
    .png()
    .toBuffer();
};

const read = (controls: readonly Control[], file: Uint8Array) =>
  readControls(
    { control: [...controls], ...SIZE },
    async (_, field, decode) => decode(file, await inspectPicture(file, field)),
    editWork,
  );

test('A control picture is stretched to the size of its job, and has the scale and the window of its control', async () => {
  const uses = await read([control({ scale: 0.5, start: 0.1, end: 0.8 })], await halves(100, 30));
  const [{ pixels, ...rest }] = uses;
  expect(rest).toEqual({ name: 'edges', scale: 0.5, start: 0.1, end: 0.8 });
  expect([pixels.length, pixels[0], pixels[23 * 3]]).toEqual([24 * 16 * 3, 0, 255]);
});

test('Canny is made here at the size of the job, and what a model makes is left to the engine', async () => {
  const file = await halves(24, 16);
  const [edges, depth] = await read(
    [control({ preprocess: 'canny' }), control({ name: 'depth', preprocess: 'distance@1' })],
    file,
  );
  expect([edges.preprocess, depth.preprocess]).toEqual([undefined, 'distance@1']);
  expect([...edges.pixels].filter((value) => value > 0).length).toBe(16 * 3);
  expect(Buffer.from(depth.pixels).equals(await sharp(file).toColourspace('srgb').raw().toBuffer())).toBe(
    true,
  );
});

test.each([
  ['a text', Buffer.from('no picture'), 'must be a PNG, JPEG or WebP file'],
  ['a latent', Buffer.from('\x10\0\0\0\0\0\0\0{"latent":{}}', 'latin1'), 'must be a PNG, JPEG or WebP file'],
])('A control picture that is none is refused, and its field is named: %s', async (_, file, detail) => {
  const good = control();
  await expect(read([good, good], file)).rejects.toMatchObject({
    code: 'invalid-input',
    problems: [{ pointer: '/input/control/0/image', detail }],
  });
});

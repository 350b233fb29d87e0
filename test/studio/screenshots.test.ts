/** The comparison that says when a screenshot of docs/studio.md is old. */
import { readFile } from 'node:fs/promises';
import sharp from 'sharp';
import { expect, test } from 'vitest';
import { differenceOf, TOLERANCE } from './screenshots.ts';

const shot = (name: string): Promise<Buffer> =>
  readFile(new URL(`../../docs/studio/${name}.png`, import.meta.url));

const withBox = async (png: Buffer, width: number, height: number, background: string): Promise<Buffer> =>
  sharp(png)
    .composite([{ input: { create: { width, height, channels: 3, background } }, left: 300, top: 300 }])
    .png()
    .toBuffer();

test('The same picture with other compression is the same view', async () => {
  const png = await shot('make-light');
  const again = await sharp(png).png({ palette: true, quality: 80 }).toBuffer();
  expect(await differenceOf(png, again)).toBeLessThanOrEqual(TOLERANCE);
});

test('A new button is a change of the view, and none where the picture always differs', async () => {
  const png = await shot('make-light');
  const changed = await withBox(png, 180, 44, '#b8410e');
  expect(await differenceOf(png, changed)).toBeGreaterThan(TOLERANCE);
  expect(await differenceOf(png, changed, [{ left: 300, top: 300, width: 180, height: 44 }])).toBe(0);
});

test('The other theme is a change of the view', async () => {
  expect(await differenceOf(await shot('make-light'), await shot('make-dark'))).toBeGreaterThan(0.5);
});

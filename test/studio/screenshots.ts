/**
 * The screenshots of docs/studio.md. With STUDIO_SHOTS=write the tests that look at every view make them; else the tests compare what
 * they see with the stored ones, so that a view that changed gets new ones.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pixelmatch from 'pixelmatch';
import type { Page } from 'playwright-core';
import sharp from 'sharp';
import { expect } from 'vitest';

const FOLDER = join(import.meta.dirname, '../../docs/studio');

/** What differs in each run: pictures, times, ids and seeds. Their places are compared, and not what is in them. */
const VOLATILE = [
  '.picture',
  '.result-done',
  '.parameters dd',
  '.seed-field input',
  'input[name="seed"]',
  'time',
  '.job-line code',
  '.facts dd',
  '.phases',
  '.phase-table',
  '.job .hint',
  '.snippet',
  '.events',
  '.event-note',
  '.transcript',
  '.compare-grid',
  '.compare-estimate',
];

/** These show the last hour on their axes, so they are made and not compared. */
const OF_THE_HOUR = /^charts-/;

/** Each side is this much smaller when pictures are compared, so that the edges of letters count little. */
const SHRUNK = 2;
/** How different a colour may be, from 0 to 1 (pixelmatch; in YIQ, as eyes see it). */
const COLOUR = 0.08;
/** The share of pixels that may differ: a quarter of a button of the phone's width, and more than the noise of two runs. */
export const TOLERANCE = 0.004;

export async function saveScreenshot(page: Page, name: string): Promise<void> {
  const path = join(FOLDER, `${name}.png`);
  const taken = await page.screenshot();
  // biome-ignore lint/suspicious/noUndeclaredEnvVars: no task of turbo runs this
  if (process.env.STUDIO_SHOTS === 'write') {
    await mkdir(FOLDER, { recursive: true });
    // Few colours: a third of the bytes, with no difference that is seen.
    await writeFile(path, await sharp(taken).png({ palette: true, quality: 92 }).toBuffer());
    return;
  }
  if (OF_THE_HOUR.test(name)) return;
  const stored = await readFile(path);
  const hint = 'a view changed: STUDIO_SHOTS=write npx vitest run test/studio makes new screenshots';
  const share = await differenceOf(stored, taken, await volatilePlaces(page));
  expect(share, `${name}: ${hint}`).toBeLessThanOrEqual(TOLERANCE);
}

interface Place {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** Inside the window, in its pixels. */
const volatilePlaces = (page: Page): Promise<readonly Place[]> =>
  page.evaluate(`[...document.querySelectorAll(${JSON.stringify(VOLATILE.join(','))})].flatMap((each) => {
    const { left, top, right, bottom } = each.getBoundingClientRect();
    const [x, y] = [Math.max(0, Math.floor(left)), Math.max(0, Math.floor(top))];
    const width = Math.min(innerWidth, Math.ceil(right)) - x;
    const height = Math.min(innerHeight, Math.ceil(bottom)) - y;
    return width > 0 && height > 0 ? [{ left: x, top: y, width, height }] : [];
  })`) as Promise<readonly Place[]>;

/** The share of pixels in which two pictures differ to the eye, from 0 to 1; 1 when they have not one size. */
export async function differenceOf(
  a: Uint8Array,
  b: Uint8Array,
  without: readonly Place[] = [],
): Promise<number> {
  const [first, second] = await Promise.all([pixelsOf(a, without), pixelsOf(b, without)]);
  const { width, height } = first;
  if (width !== second.width || height !== second.height) return 1;
  const different = pixelmatch(first.data, second.data, undefined, width, height, { threshold: COLOUR });
  return different / (width * height);
}

async function pixelsOf(png: Uint8Array, without: readonly Place[]) {
  const blanks = without.map(({ left, top, width, height }) => ({
    input: { create: { width, height, channels: 3 as const, background: '#808080' } },
    left,
    top,
  }));
  const masked = await sharp(png).removeAlpha().composite(blanks).png().toBuffer();
  const { width } = await sharp(masked).metadata();
  const { data, info } = await sharp(masked)
    .resize(Math.round(width / SHRUNK))
    .ensureAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  return { data, width: info.width, height: info.height };
}

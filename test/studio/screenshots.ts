/** Screenshots for docs/studio.md, made by the tests that look at every view when STUDIO_SHOTS is `write`. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import sharp from 'sharp';

const FOLDER = join(import.meta.dirname, '../../docs/studio');

export async function saveScreenshot(page: Page, name: string): Promise<void> {
  // biome-ignore lint/suspicious/noUndeclaredEnvVars: no task of turbo runs this
  if (process.env.STUDIO_SHOTS !== 'write') return;
  await mkdir(FOLDER, { recursive: true });
  const taken = await page.screenshot();
  // Few colours: a third of the bytes, with no difference that is seen.
  await writeFile(
    join(FOLDER, `${name}.png`),
    await sharp(taken).png({ palette: true, quality: 92 }).toBuffer(),
  );
}

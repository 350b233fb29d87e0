/** Every view in both themes: what axe finds, what the browser complains about, whether it fits a phone, and how much it loads. */
import { readFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import type { Locator, Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { chromiumPath } from '../support/browser.ts';
import type { Stack } from '../support/stack.ts';
import { DESK, faultsOf, lookAt, PHONE } from './look-at.ts';
import { answerWithSamples } from './sample-answers.ts';
import { differenceOf } from './screenshots.ts';
import { demoStack, enter, finished, make, openStudio, studioWorld } from './studio-world.ts';

const MAX_SCRIPT_BYTES = 120 * 1024;

/** Each part of the admin view, and what it has when it is there. */
const ADMIN_PARTS = [
  ['traffic', '.traffic-node'],
  ['fleet', '.worker-table'],
  ['models', '.rollout'],
  ['tenants', '.use-bar'],
  ['keys', '.key-name'],
  ['dead-letters', '.admin-table'],
  ['settings', '.setting-name'],
] as const;

const world = studioWorld();

async function speak(page: Page, stack: Stack): Promise<void> {
  await page.goto(`${stack.url}/studio/speak`);
  const sound = new URL('../golden/samples/speech/en_stars.wav', import.meta.url);
  await page.locator('input[type=file]').setInputFiles({
    name: 'stars.wav',
    mimeType: 'audio/wav',
    buffer: await readFile(sound),
  });
  await page.locator('.segment').first().waitFor();
}

/** From the page of a job with a picture, and back to it: the picture made larger, on the page of its own job. */
async function lookAtUpscaled(page: Page, colorScheme: string): Promise<void> {
  await page.getByRole('button', { name: 'Upscale' }).click();
  await page.getByText('512 × 512').waitFor();
  await page.getByLabel('Before and after').waitFor();
  await lookAt(page, `upscaled-${colorScheme}`, `upscaled-phone-${colorScheme}`);
  await page.goBack();
  await page.getByText('256 × 256').waitFor();
}

/** From the page of a job with a picture: what is painted on it, the result beside it, and what is drawn around it. */
async function lookAtEdits(page: Page, colorScheme: string): Promise<void> {
  await page.getByRole('button', { name: 'Edit this' }).click();
  await page.getByLabel('What I paint').check();
  const mask = page.locator('.mask');
  await mask.scrollIntoViewIfNeeded();
  const { x, y, width, height } = (await mask.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
  await page.mouse.move(x + width * 0.4, y + height * 0.76);
  await page.mouse.down();
  await page.mouse.move(x + width * 0.6, y + height * 0.76, { steps: 8 });
  await page.mouse.up();
  await lookAt(page, `edit-${colorScheme}`, `edit-phone-${colorScheme}`);
  await make(page, 'two green stars above a red circle, purple background');
  await finished(page);
  await lookAt(page, `edited-${colorScheme}`);
  await page.getByLabel('Around it').check();
  await page.getByRole('slider', { name: 'Right edge' }).press('ArrowRight');
  await page.getByRole('slider', { name: 'Bottom edge' }).press('ArrowDown');
  await lookAt(page, `around-${colorScheme}`);
}

const SEED = 7;
/** Runs in the page, which takes its seeds from here. Not all that shows a picture is left out where views are compared. */
const FIXED_SEEDS = `crypto.getRandomValues = (values) => values.fill(${SEED});`;

/** Runs in the page: one of the two layers alone has letters, and no word has a colour behind it. */
const LETTERS_OF = (
  layer: string,
): string => `for (const each of document.querySelectorAll('.prompt-box *')) {
  each.style.color = each.closest('${layer}') ? 'black' : 'transparent';
  each.style.background = 'none';
  each.style.boxShadow = 'none';
}`;

async function galleryColumns(page: Page, width: number): Promise<number> {
  await page.setViewportSize({ ...PHONE, width });
  return page.evaluate(
    "getComputedStyle(document.querySelector('.tiles')).gridTemplateColumns.split(' ').length",
  );
}

async function isInWindow(element: Locator): Promise<boolean> {
  const box = await element.boundingBox();
  return box !== null && box.x >= 0 && box.x + box.width <= PHONE.width;
}

describe.skipIf(!chromiumPath)('the looks of the studio', () => {
  test.each(['light', 'dark'] as const)(
    'Every view is accessible, fits a phone and raises no complaint: %s',
    { tags: ['long'] },
    async (colorScheme) => {
      const stack = await demoStack(world.redis);
      await stack.worker();
      const { page, complaints } = await openStudio(world.browser, {
        colorScheme,
        viewport: DESK,
        reducedMotion: 'reduce',
      });
      await page.addInitScript(FIXED_SEEDS);
      await page.goto(stack.url);
      await page.getByLabel('API key').waitFor();
      await lookAt(page, `sign-in-${colorScheme}`);
      await enter(page, stack);
      expect(await faultsOf(page)).toEqual([]);
      await make(page, 'two (green:1.4) stars above a [yellow] square, purple background');
      await finished(page);
      await lookAt(page, `make-${colorScheme}`, `make-phone-${colorScheme}`);
      await page.getByRole('link', { name: 'Job page' }).click();
      await page.locator('.phases').waitFor();
      await lookAt(page, `job-${colorScheme}`);
      await lookAtUpscaled(page, colorScheme);
      await lookAtEdits(page, colorScheme);
      await speak(page, stack);
      await lookAt(page, `speak-${colorScheme}`);
      for (const prompt of ['a red circle on a blue background', 'a purple triangle on a white background']) {
        await stack.over((await stack.post({ prompt, seed: SEED })).id);
      }
      await page.getByRole('link', { name: 'Gallery' }).click();
      await expect.poll(() => page.locator('.tile').count()).toBe(6);
      await expect.poll(() => page.locator('.tile .picture[data-loaded="true"]').count()).toBe(5);
      await lookAt(page, `gallery-${colorScheme}`, `gallery-phone-${colorScheme}`);
      expect(await galleryColumns(page, 360)).toBe(2);
      expect(await galleryColumns(page, PHONE.width)).toBe(2);
      expect(complaints).toEqual([]);
    },
  );

  test.each(['light', 'dark'] as const)(
    'The belt and every part of the admin view are accessible, fit a phone and raise no complaint: %s',
    { tags: ['long'] },
    async (colorScheme) => {
      const stack = await demoStack(world.redis);
      const { page, complaints } = await openStudio(world.browser, {
        colorScheme,
        viewport: DESK,
        reducedMotion: 'reduce',
        locale: 'en-GB',
        timezoneId: 'UTC',
      });
      await enter(page, stack);
      await answerWithSamples(page);
      await page.goto(`${stack.url}/studio/belt`);
      await page.locator('.belt-tile').first().waitFor();
      await lookAt(page, `belt-${colorScheme}`, `belt-phone-${colorScheme}`);
      for (const [tab, mark] of ADMIN_PARTS) {
        await page.goto(`${stack.url}/studio/admin/${tab}`);
        await page.locator(mark).first().waitFor();
        const isOnPhone = ['traffic', 'models', 'tenants'].includes(tab);
        await lookAt(
          page,
          `admin-${tab}-${colorScheme}`,
          isOnPhone ? `admin-${tab}-phone-${colorScheme}` : undefined,
        );
        if (tab !== 'keys') continue;
        await page.getByRole('button', { name: 'Change the limits of web shop' }).click();
        await page.locator('.limits-dialog[open]').waitFor();
        await lookAt(page, `admin-limits-${colorScheme}`, `admin-limits-phone-${colorScheme}`);
      }
      await page.goto(`${stack.url}/studio/planned`);
      await page.locator('.planned-mark').first().waitFor();
      await lookAt(page, `planned-${colorScheme}`, `planned-phone-${colorScheme}`);
      await page.getByRole('link', { name: 'Seeds of a lighthouse' }).click();
      await expect.poll(() => page.locator('.sheet .picture[data-loaded="true"]').count()).toBe(8);
      await lookAt(page, `batch-${colorScheme}`, `batch-phone-${colorScheme}`);
      await page.setViewportSize(PHONE);
      for (const tab of ['settings', 'traffic']) {
        await page.goto(`${stack.url}/studio/admin/${tab}`);
        const chosen = page.locator('.admin-tab[aria-current]');
        await chosen.waitFor();
        await expect.poll(() => isInWindow(chosen), { message: tab }).toBe(true);
      }
      expect(complaints).toEqual([]);
    },
  );

  test('The colours of weights lie exactly behind their words, however the prompt wraps and scrolls', {
    tags: ['long'],
  }, async () => {
    const stack = await demoStack(world.redis);
    const { page } = await openStudio(world.browser, { reducedMotion: 'reduce' });
    await enter(page, stack);
    const words = 'a (tall:1.3) lighthouse,  [fog] AVAToffice fi\n\nBREAK (((unbroken_word)))'.repeat(12);
    await page.locator('#prompt').fill(`${words}${'longword'.repeat(20)} \n`);
    const box = page.locator('.prompt-box');
    await page.keyboard.press('Control+End');
    await page.keyboard.press('x');
    const hidden = `(({ scrollTop, clientHeight, scrollHeight }) => scrollHeight - clientHeight - scrollTop)
      (document.querySelector('.prompt-box'))`;
    expect(await page.evaluate(hidden), 'pixels below the line that is written').toBeLessThan(20);
    await page.evaluate("window.lastMark = [...document.querySelectorAll('.weight-more')].at(-1)");
    await page.keyboard.press('Control+Home');
    await page.keyboard.press('x');
    expect(await page.evaluate('lastMark.isConnected'), 'a mark is made anew by a letter before it').toBe(
      true,
    );
    await page.locator('#prompt').blur();
    for (const width of [360, 705, 1280]) {
      await page.setViewportSize({ width, height: 840 });
      for (const isAtEnd of [false, true]) {
        await page.evaluate(`document.querySelector('.prompt-box').scrollTop = ${isAtEnd ? 1e6 : 0}`);
        await page.evaluate(LETTERS_OF('textarea'));
        const field = await box.screenshot();
        await page.evaluate(LETTERS_OF('.prompt-weights'));
        const behind = await box.screenshot();
        await page.evaluate("document.querySelector('.prompt-weights').style.translate = '1px'");
        const moved = await box.screenshot();
        await page.evaluate("document.querySelector('.prompt-weights').style.translate = 'none'");
        // Letters at the edges of a mark are rounded to another part of a pixel.
        expect(await differenceOf(field, behind), `${width} px`).toBeLessThan(0.01);
        expect(await differenceOf(field, moved), `${width} px`).toBeGreaterThan(0.05);
      }
    }
  });

  test('The first load has at most 120 kB of compressed script, and asks no other server', {
    tags: ['long'],
  }, async () => {
    const stack = await demoStack(world.redis);
    const { page } = await openStudio(world.browser);
    const asked: string[] = [];
    const scripts: Promise<Buffer>[] = [];
    page.on('response', (response) => {
      asked.push(new URL(response.url()).origin);
      if (response.request().resourceType() === 'script') scripts.push(response.body());
    });
    await page.goto(stack.url);
    await page.getByLabel('API key').waitFor();
    const bytes = (await Promise.all(scripts)).reduce((sum, body) => sum + gzipSync(body).length, 0);
    expect(bytes).toBeGreaterThan(1000);
    expect(bytes).toBeLessThan(MAX_SCRIPT_BYTES);
    expect(new Set(asked)).toEqual(new Set([new URL(stack.url).origin]));
  });
});

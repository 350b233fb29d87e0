/** The comparison: a grid of one prompt over two settings. */
import { readFile } from 'node:fs/promises';
import type { Browser, Page } from 'playwright-core';
import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import {
  type Batch,
  type BatchLine,
  BatchLineListSchema,
  BatchListSchema,
} from '../../packages/shared/src/index.ts';
import { chromiumPath } from '../support/browser.ts';
import type { Stack } from '../support/stack.ts';
import { DESK, lookAt } from './look-at.ts';
import { demoStack, enter, openStudio, PROMPT, studioWorld } from './studio-world.ts';

const world = studioWorld();

/** Many pictures and a browser, on a machine that runs other tests as well. */
const SIDE = 64;

/** Newest first. */
async function batchesOf(stack: Stack): Promise<readonly Batch[]> {
  return BatchListSchema.parse(await (await stack.ask('GET', '/v1/batches')).json()).data;
}

async function linesOf(stack: Stack, { id }: Batch): Promise<readonly BatchLine[]> {
  return BatchLineListSchema.parse(await (await stack.ask('GET', `/v1/batches/${id}/lines`)).json()).data;
}

async function openCompare(stack: Stack, options: Parameters<Browser['newContext']>[0] = {}) {
  const studio = await openStudio(world.browser, { viewport: DESK, ...options });
  await enter(studio.page, stack);
  await studio.page.getByRole('link', { name: 'Compare' }).click();
  await studio.page.getByRole('spinbutton', { name: 'Width' }).fill(`${SIDE}`);
  await studio.page.getByRole('spinbutton', { name: 'Height' }).fill(`${SIDE}`);
  await studio.page.getByRole('spinbutton', { name: 'Seed' }).fill('7');
  return studio;
}

async function write(page: Page, across: string, down: string): Promise<void> {
  await page.locator('#compare-prompt').fill(PROMPT);
  await page.getByRole('textbox', { name: 'Values across' }).fill(across);
  await page.getByRole('textbox', { name: 'Values down' }).fill(down);
}

const pictures = (page: Page) => page.locator('.compare-grid .picture[data-loaded="true"]');

describe.skipIf(!chromiumPath)('the comparison', () => {
  test.each(['light', 'dark'] as const)(
    'A prompt over two settings fills a grid, with errors at their fields or in their cells, is found again, and is saved as one picture: %s',
    { tags: ['long'] },
    async (colorScheme) => {
      const stack = await demoStack(world.redis);
      await stack.worker();
      const { page, complaints } = await openCompare(stack, { colorScheme, reducedMotion: 'reduce' });
      await page.getByRole('combobox', { name: /^Across/ }).selectOption('Steps');
      await page.getByRole('combobox', { name: /^Down/ }).selectOption('Sampler');
      // A value that no job may have is refused before anything runs, at its field.
      await write(page, '2, 6, 500', 'ddim, euler, nothing');
      await page.locator('.axis .fault').getByText('must be one of').waitFor();
      await page.getByRole('button', { name: 'Make 9 pictures' }).click();
      await page.locator('.axis .fault').getByText('must be one of').waitFor();
      expect(await batchesOf(stack)).toEqual([]);
      // One that only this model refuses fails alone.
      await write(page, '2, 6, 500', 'ddim, euler');
      await page.getByText('6 pictures, about').waitFor();
      await page.getByRole('button', { name: 'Make 6 pictures' }).click();
      await expect.poll(() => pictures(page).count()).toBe(4);
      await page.getByText('6 of 6 done').waitFor();
      const notes = page.locator('.line-note[data-bad="true"]');
      expect(await notes.count()).toBe(2);
      expect(await notes.first().textContent()).toContain('steps is 500, must be at most');
      const [batch] = await batchesOf(stack);
      expect(batch).toMatchObject({ priority: 'interactive', metadata: { name: PROMPT } });
      const made = (await linesOf(stack, batch)).map(({ values, job }) => [values, job?.input.seed]);
      const of = (sampler: string, steps: number) => ({ sampler, steps });
      expect(made).toEqual([
        [of('ddim', 2), 7],
        [of('ddim', 6), 7],
        [of('ddim', 500), undefined],
        [of('euler', 2), 7],
        [of('euler', 6), 7],
        [of('euler', 500), undefined],
      ]);
      await page.reload();
      await expect.poll(() => pictures(page).count()).toBe(4);
      await page.getByText('6 of 6 done').waitFor();

      const download = page.waitForEvent('download');
      await page.getByRole('button', { name: 'Save as one picture' }).click();
      const saved = await download;
      expect(saved.suggestedFilename()).toBe('lehr-comparison.png');
      const { format, width = 0, height = 0 } = await sharp(await readFile(await saved.path())).metadata();
      expect(format).toBe('png');
      expect(width).toBeGreaterThan(3 * SIDE);
      expect(height).toBeGreaterThan(3 * SIDE);

      // The refused requests are errors in the console of every browser.
      expect(complaints.filter((each) => !each.includes('422'))).toEqual([]);
      // The size at which the demo model draws shapes.
      for (const side of ['Width', 'Height']) await page.getByRole('spinbutton', { name: side }).fill('256');
      await page.getByRole('combobox', { name: /^Down/ }).selectOption('Seed');
      await write(page, '2, 4, 12', '1, 2, 3');
      await page.getByRole('button', { name: 'Make 9 pictures' }).click();
      await page.getByText('9 of 9 done').waitFor();
      await expect.poll(() => pictures(page).count()).toBe(9);
      await page.evaluate('scrollTo(0, 0)');
      await lookAt(page, `compare-${colorScheme}`);
    },
  );

  test('The address keeps the comparison, which is never sent to the server, and its batch as long as there is one', {
    tags: ['long'],
  }, async () => {
    const stack = await demoStack(world.redis);
    const { page } = await openCompare(stack);
    await write(page, '3, 4', '1, 2, 5');
    await page.getByRole('button', { name: 'Make 6 pictures' }).waitFor();
    const address = page.url();
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    await page.reload();
    await page.getByRole('button', { name: 'Make 6 pictures' }).waitFor();
    expect(page.url()).toBe(address);
    expect(await page.locator('#compare-prompt').inputValue()).toBe(PROMPT);
    expect(asked.join(' ')).not.toContain('red');
    // One of another tenant, or of last month.
    await page.goto('about:blank');
    await page.goto(`${address}&batch=batch_01jd3v9s6w0000000000000000`);
    await page.getByText('There is no such batch.').waitFor();
    expect(await page.locator('.compare-grid').count()).toBe(0);
    expect(await page.getByRole('button', { name: 'Make 6 pictures' }).isEnabled()).toBe(true);
  });

  test('Cancel all ends what waits, and more pictures than the limit cannot be made', {
    tags: ['long'],
  }, async () => {
    const stack = await demoStack(world.redis);
    const { page, complaints } = await openCompare(stack);
    await write(page, '1, 2, 3, 4, 5, 6, 7', '1, 2, 3, 4, 5, 6');
    await page.getByText('42 pictures are too many: at most 36.').waitFor();
    expect(await page.getByRole('button', { name: 'Make 42 pictures' }).isDisabled()).toBe(true);
    await write(page, '3, 4, 5', '1, 2');
    await page.getByRole('button', { name: 'Make 6 pictures' }).click();
    await expect.poll(async () => (await batchesOf(stack)).length).toBe(1);
    const [batch] = await batchesOf(stack);
    const states = async () => (await linesOf(stack, batch)).map(({ job }) => job?.status);
    await expect.poll(states).toEqual(Array(6).fill('queued'));
    await page.getByRole('button', { name: 'Cancel all' }).click();
    await page.getByText('6 of 6 done').waitFor();
    expect(await states()).toEqual(Array(6).fill('canceled'));
    expect(complaints).toEqual([]);
  });

  test('All cells of the longest prompt are shown', { tags: ['long'] }, async () => {
    const stack = await demoStack(world.redis);
    const { page } = await openCompare(stack);
    await write(page, '1, 2, 3, 4, 5, 6', '1, 2, 3, 4, 5, 6');
    await page.locator('#compare-prompt').fill('🙂'.repeat(32_000));
    await page.getByRole('button', { name: 'Make 36 pictures' }).click();
    await page.getByRole('button', { name: 'Cancel all' }).click();
    await page.getByText('36 of 36 done').waitFor();
    // Canceled, or never made.
    await expect.poll(() => page.locator('.line-box[data-status="queued"]').count()).toBe(0);
    expect(await page.locator('.line-box').count()).toBe(36);
  });
});

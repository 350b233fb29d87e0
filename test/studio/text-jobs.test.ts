/** Text jobs, which programs make, in the gallery and on their page. */
import { describe, expect, test } from 'vitest';
import { JobSchema } from '../../packages/shared/src/index.ts';
import { chromiumPath } from '../support/browser.ts';
import { textStack } from '../support/text-stack.ts';
import { openStudio, studioWorld } from './studio-world.ts';

const world = studioWorld();

describe.skipIf(!chromiumPath)('text jobs in the studio', () => {
  test('The gallery lists text jobs as their texts and results, and their page has a line for each text', {
    tags: ['long'],
  }, async () => {
    const stack = await textStack(world.redis, ['bert-classes', 'bert-sentences']);
    const run = async (type: string, texts: readonly string[]) => {
      const made = await stack.ask('POST', '/v1/jobs', { type, input: { texts } });
      return stack.over(JobSchema.parse(await made.json()).id);
    };
    const classified = await run('text-classification', ['a fine film', 'a dull film']);
    await run('text-embedding', ['a red circle']);
    const [best] = classified.output?.labels?.[0] ?? [];

    const { page, complaints } = await openStudio(world.browser);
    const made = await stack.ask('POST', '/studio/links');
    await page.goto(((await made.json()) as { url: string }).url);
    await page.getByRole('link', { name: 'Gallery' }).click();
    await expect.poll(() => page.locator('.tile').count()).toBe(2);
    expect(await page.locator('.tile-title').allTextContents()).toEqual(['a red circle', 'a fine film +1']);
    expect(await page.locator('.tile-words').first().textContent()).toBe('A vector of 32 numbers');
    await page.getByLabel('Kind').selectOption('Classifications');
    await expect.poll(() => page.locator('.tile').count()).toBe(1);
    expect(await page.locator('.tile-words').textContent()).toContain(best.label);

    await page.locator('.tile-link').click();
    await page.locator('.text-results').waitFor();
    expect(await page.locator('.text-results li').count()).toBe(2);
    expect(await page.locator('.phase-table').textContent()).toContain('Running the model');
    expect(complaints).toEqual([]);
  });
});

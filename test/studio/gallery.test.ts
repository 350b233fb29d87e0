/** The gallery with many jobs: what is in the page, and what is done with several jobs together. */
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { unzipSync } from 'fflate';
import { describe, expect, test } from 'vitest';
import { JobListSchema } from '../../packages/shared/src/index.ts';
import { chromiumPath } from '../support/browser.ts';
import { manyJobs } from '../support/many-jobs.ts';
import { tempFolder } from '../support/tiny-models.ts';
import { DESK, faultsOf } from './look-at.ts';
import { demoStack, enter, openStudio, studioWorld } from './studio-world.ts';

const world = studioWorld();
const JOBS = 10_000;
/** Of a window of this size, with the rows around it. */
const MAX_TILES = 60;

/** Scrolls to the end again and again until it is the end of all jobs; runs in the page. Returns the most tiles that were in it. */
const SCROLL_DOWN = `(async () => {
  let most = 0;
  for (;;) {
    scrollTo(0, document.documentElement.scrollHeight);
    await new Promise((resolve) => requestAnimationFrame(resolve));
    most = Math.max(most, document.querySelectorAll('.tile').length);
    const foot = document.querySelector('.gallery-foot').textContent;
    const fault = document.querySelector('.gallery .fault').textContent;
    if (foot === '${JOBS} jobs' || fault !== '') return { most, foot: foot + fault };
  }
})()`;

describe.skipIf(!chromiumPath)('the gallery', () => {
  test('Of 10,000 jobs only those that are seen are in the page, to the last one', {
    tags: ['long'],
  }, async () => {
    const stack = await demoStack(world.redis);
    await manyJobs(world.redis.url, stack.namespace, JOBS);
    const { page, complaints } = await openStudio(world.browser, { viewport: DESK });
    await enter(page, stack);
    await page.getByRole('link', { name: 'Gallery' }).click();
    await page.getByText(`number ${JOBS}`, { exact: false }).first().waitFor();
    const { most, foot } = (await page.evaluate(SCROLL_DOWN)) as { most: number; foot: string };
    expect(foot).toBe(`${JOBS} jobs`);
    const last = page.locator('.tile').last();
    await expect
      .poll(async () => {
        await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)');
        return last.locator('.tile-title').textContent();
      })
      .toBe('a picture, number 1');
    expect([await last.getAttribute('aria-posinset'), await last.getAttribute('aria-setsize')]).toEqual([
      `${JOBS}`,
      `${JOBS}`,
    ]);
    expect(most).toBeGreaterThan(10);
    expect(most).toBeLessThan(MAX_TILES);
    await page.getByPlaceholder('Search prompts').fill('number 4321');
    await expect.poll(() => page.locator('.tile').count()).toBe(1);
    expect(complaints).toEqual([]);
  });

  test('Selected jobs are saved as one zip, without what has expired, and are deleted together', {
    tags: ['long'],
  }, async () => {
    const home = await tempFolder('gallery');
    const stack = await demoStack(world.redis, { LEHR_HOME: home });
    await stack.worker();
    const made = await Promise.all(
      [1, 2, 3].map((seed) => stack.post({ seed, steps: 2, width: 64, height: 64, n: seed === 3 ? 2 : 1 })),
    );
    for (const { id } of made) await stack.over(id);
    const { page, complaints } = await openStudio(world.browser, { viewport: DESK });
    await enter(page, stack);
    await removeOutputs(home, made[0].id);
    await page.getByRole('link', { name: 'Gallery' }).click();
    await expect.poll(() => page.locator('.tile .picture[data-loaded="true"]').count()).toBe(2);
    await page.locator('.tile').getByText('This picture has expired').waitFor();
    const box = (n: number) => page.locator('.tile-select input').nth(n);
    await box(0).check();
    await box(2).click({ modifiers: ['Shift'] });
    await page.getByText('3 jobs selected').waitFor();
    expect(await faultsOf(page)).toEqual([]);

    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download as zip' }).click();
    const files = unzipSync(new Uint8Array(await readFile(await (await download).path())));
    expect(Object.keys(files).sort()).toEqual(
      [`${made[1].id}.png`, `${made[2].id}.png`, `${made[2].id}-2.png`, 'jobs.json'].sort(),
    );
    await page.getByText('1 output has expired and is left out').waitFor();
    const facts = JSON.parse(Buffer.from(files['jobs.json']).toString()) as { input: { seed: number } }[];
    expect(facts.map(({ input }) => input.seed)).toEqual([3, 2, 1]);

    await box(0).uncheck();
    await page.getByRole('region', { name: 'Selected jobs' }).getByRole('button', { name: 'Delete' }).click();
    await page.getByText('Delete 2 jobs and their outputs?').waitFor();
    await page.locator('dialog').getByRole('button', { name: 'Delete' }).click();
    await expect.poll(() => page.locator('.tile').count()).toBe(1);
    const left = JobListSchema.parse(await (await stack.ask('GET', '/v1/jobs')).json()).data;
    expect(left.map(({ id }) => id)).toEqual([made[2].id]);
    expect(complaints).toEqual([]);
  });
});

/** As the sweep of old outputs does. */
async function removeOutputs(home: string, id: string): Promise<void> {
  const names = await readdir(home, { recursive: true });
  const own = names.filter((name) => name.includes(id) && name.includes('objects'));
  if (own.length === 0) throw new Error(`${id} has no outputs below ${home}`);
  await Promise.all(own.map((name) => rm(join(home, name), { recursive: true, force: true })));
}

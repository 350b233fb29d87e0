/** Make with adapters and with a picture that guides the drawing, from the switch to the picture and back from its job. */
import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import { JobListSchema } from '../../packages/shared/src/index.ts';
import { chromiumPath } from '../support/browser.ts';
import { pictureOf } from '../support/demo-models.ts';
import { readScene } from '../support/scene-reading.ts';
import { demoStack, enter, finished, openStudio, studioWorld } from './studio-world.ts';

const world = studioWorld();

/** A white circle on black, in the upper left. */
const CIRCLE =
  '<svg width="256" height="256"><rect width="256" height="256"/><circle cx="80" cy="90" r="40" fill="#fff"/></svg>';

describe.skipIf(!chromiumPath)('adapters and a guide in Make', () => {
  test('An adapter and a guide act on the picture, its page names both, and both are there again when it is opened in Make', {
    tags: ['long'],
  }, async () => {
    const stack = await demoStack(world.redis);
    await stack.worker();
    const { page, complaints } = await openStudio(world.browser);
    await enter(page, stack);
    await page.locator('#prompt').fill('a red circle on a blue background');
    await page.getByRole('switch', { name: /^night/ }).check();
    await page.getByRole('button', { name: 'night', exact: true }).click();
    expect(await page.locator('#prompt').inputValue()).toBe('a red circle on a blue background, night');
    expect(await page.getByRole('button', { name: 'night', exact: true }).isDisabled()).toBe(true);
    await page.getByLabel('choose a guide').setInputFiles({
      name: 'circle.png',
      mimeType: 'image/png',
      buffer: await sharp(Buffer.from(CIRCLE)).png().toBuffer(),
    });
    await page.getByRole('img', { name: 'The picture that guides' }).waitFor();
    await page.keyboard.press('Control+Enter');
    await finished(page);
    const [job] = JobListSchema.parse(await (await stack.ask('GET', '/v1/jobs')).json()).data;
    expect(job.input).toMatchObject({
      adapters: [{ name: 'night', scale: 1 }],
      control: [{ name: 'shapes', scale: 1, start: 0, end: 1 }],
    });
    const { background, objects } = readScene(await pictureOf(job));
    expect(background?.colours).toEqual(['black']);
    expect(objects).toHaveLength(1);
    const [{ x, y }] = objects;
    expect(Math.hypot(x * 256 - 80, y * 256 - 90)).toBeLessThan(16);

    await page.getByRole('link', { name: 'Job page' }).click();
    await page.getByText('night 1', { exact: true }).waitFor();
    await page.getByText('shapes 1', { exact: true }).waitFor();
    await page.getByRole('switch').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Open in Make' }).click();
    await page.getByRole('img', { name: 'The picture that guides' }).waitFor();
    expect(await page.getByRole('switch', { name: /^night/ }).isChecked()).toBe(true);
    expect(complaints).toEqual([]);
  });

  test('A tag of an adapter has a frame in the prompt, and one that the model does not have another', {
    tags: ['long'],
  }, async () => {
    const stack = await demoStack(world.redis);
    const { page } = await openStudio(world.browser);
    await enter(page, stack);
    await page.getByRole('switch').first().waitFor();
    await page.locator('#prompt').fill('<lora:night:0.5> a star <lora:day>');
    const tags = page.locator('.prompt-adapter');
    expect(await tags.allTextContents()).toEqual(['<lora:night:0.5>', '<lora:day>']);
    const known = await tags.evaluateAll((all) => all.map((each) => each.getAttribute('data-known')));
    expect(known).toEqual(['true', 'false']);
  });
});

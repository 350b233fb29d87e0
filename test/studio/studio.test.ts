/** What people do in the studio: pictures, words, the gallery, and what happens when something fails. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import { type Job, JobListSchema } from '../../packages/shared/src/index.ts';
import { keysOf } from '../../packages/shared/src/redis/index.ts';
import { chromiumPath } from '../support/browser.ts';
import { testRedis } from '../support/redis.ts';
import type { Stack } from '../support/stack.ts';
import { tcpProxy } from '../support/tcp-proxy.ts';
import { tempFolder } from '../support/tiny-models.ts';
import { faultsOf } from './look-at.ts';
import { demoStack, enter, finished, make, openStudio, PROMPT, studioWorld } from './studio-world.ts';

const world = studioWorld();

/** Newest first. */
async function jobsOf(stack: Stack): Promise<readonly Job[]> {
  return JobListSchema.parse(await (await stack.ask('GET', '/v1/jobs')).json()).data;
}

/** As after their last hour: Redis knows them no longer. */
async function endSessions({ namespace }: Stack): Promise<void> {
  const redis = testRedis(world.redis.url);
  const ended = await redis.keys(keysOf(namespace).sessions('*'));
  expect(await redis.del(...ended)).toBe(1);
}

/** A red circle to the left of a small yellow star, 256 x 256. */
const SCENE = new URL(
  '../../packages/demo-models/train/diffusion/fixtures/parity/0-picture.png',
  import.meta.url,
);
const GREEN_STAR = 'a red circle to the left of a small green star on a blue background';

const pixelsOf = (png: Buffer): Promise<Buffer> => sharp(png).removeAlpha().raw().toBuffer();
const partOf = (pixels: Buffer, from: number, to: number): number[] =>
  Array.from(pixels).filter((_, i) => Math.floor(i / 3) % 256 >= from && Math.floor(i / 3) % 256 < to);

/** As other programs make masks: white is changed. */
const rightHalf = (): Promise<Buffer> =>
  sharp({ create: { width: 256, height: 256, channels: 3, background: '#000' } })
    .composite([
      { input: { create: { width: 128, height: 256, channels: 3, background: '#fff' } }, left: 128, top: 0 },
    ])
    .png()
    .toBuffer();

/** As pasting a copied picture does. */
const pasteFile = (page: Page, bytes: Buffer): Promise<void> =>
  page.evaluate(`(() => {
    const bytes = Uint8Array.from(atob('${bytes.toString('base64')}'), (each) => each.charCodeAt(0));
    const clipboardData = new DataTransfer();
    clipboardData.items.add(new File([bytes], 'pasted.png', { type: 'image/png' }));
    window.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));
  })()`);

/** A stroke between two places of the picture, in shares of its width and height. */
async function paint(page: Page, ...places: readonly (readonly [x: number, y: number])[]): Promise<void> {
  const box = await page.locator('.mask').boundingBox();
  if (!box) throw new Error('There is nothing to paint on.');
  for (const [i, [x, y]] of places.entries()) {
    await page.mouse.move(box.x + x * box.width, box.y + y * box.height, { steps: 4 });
    if (i === 0) await page.mouse.down();
  }
  await page.mouse.up();
}

describe.skipIf(!chromiumPath)('the studio', () => {
  test('A prompt becomes a picture, which is seen before it is finished and is found again in the gallery', {
    timeout: 240_000,
  }, async () => {
    const stack = await demoStack(world.redis);
    const { page, complaints } = await openStudio(world.browser);
    await enter(page, stack);
    await page.locator('#prompt').fill(`(${PROMPT}:1.2)${', flat'.repeat(60)}`);
    const length = page.locator('#prompt-length');
    expect(await length.textContent()).toMatch(/^About 1\d\d tokens in 2 chunks$/);
    expect(await page.locator('.weight-more').textContent()).toBe(PROMPT);
    await page.getByText('More settings').click();
    await page.getByLabel('Brackets in the prompts').selectOption('plain');
    expect(await page.locator('.weight-more').count()).toBe(0);
    await page.keyboard.press('Control+Enter');
    // The page follows the job before a worker starts: a worker makes previews only of jobs that it knows to be followed.
    await page.getByText('Next in line').waitFor();
    await stack.worker();
    await page.locator('.pane-preview').waitFor();
    expect(await page.locator('.result').count()).toBe(0);
    await finished(page);
    const cut = page.getByText(/^The model read 77 of 1\d\d tokens of the prompt/);
    await cut.waitFor();
    expect(await length.textContent()).toMatch(/^1\d\d tokens\. The model reads the first 75\.$/);
    const [first] = await jobsOf(stack);
    expect(first.input.steps).toBe(20);

    await page.getByRole('spinbutton', { name: 'Steps' }).fill('4');
    await page.getByRole('button', { name: 'Again with this seed' }).click();
    await expect.poll(async () => (await jobsOf(stack)).length).toBe(2);
    await finished(page);
    const seeds = (await jobsOf(stack)).map(({ input }) => input.seed);
    expect(seeds).toEqual([first.input.seed, first.input.seed]);

    await page.getByRole('link', { name: 'Gallery' }).click();
    await expect.poll(() => page.locator('.tile').count()).toBe(2);
    await page.getByPlaceholder('Search prompts').fill('green');
    await expect.poll(() => page.locator('.tile').count()).toBe(0);
    await page.getByPlaceholder('Search prompts').fill('RED circle');
    await expect.poll(() => page.locator('.tile').count()).toBe(2);
    await page
      .locator('.tile')
      .first()
      .getByRole('button', { name: /^Delete/ })
      .click();
    await page.locator('dialog').getByRole('button', { name: 'Delete' }).click();
    await expect.poll(() => page.locator('.tile').count()).toBe(1);

    await page.locator('.tile-link').click();
    await page.locator('.phases').waitFor();
    await cut.waitFor();
    await expect.poll(() => page.locator('.event-type').allTextContents()).toContain('job.succeeded');
    expect(await page.locator('.snippet').textContent()).toContain(PROMPT);
    expect(complaints).toEqual([]);
  });

  test('What is painted on a picture is drawn anew, the rest stays as it was, and the result is compared with it and edited again', {
    tags: ['long'],
  }, async () => {
    const stack = await demoStack(world.redis);
    await stack.worker();
    const { page, complaints } = await openStudio(world.browser);
    await enter(page, stack);
    await pasteFile(page, Buffer.from('no picture'));
    await page.getByText('cannot read that file as a picture').waitFor();
    await pasteFile(page, await readFile(SCENE));
    await page.getByLabel('What I paint').check();
    await page.locator('#prompt').fill(GREEN_STAR);
    await page.keyboard.press('Control+Enter');
    await page.getByText('nothing is marked to change').waitFor();
    await paint(page, [0.66, 0.5], [0.85, 0.5]);
    await page.keyboard.press('Control+Enter');
    await finished(page);
    const [{ input, output }] = await jobsOf(stack);
    expect(input).toMatchObject({ strength: 0.85, mask_blur: 4, mask_fill: 'original', width: 256 });
    const drawn = await pixelsOf(
      Buffer.from(await (await fetch(output?.images?.[0].url ?? '')).arrayBuffer()),
    );
    const before = await pixelsOf(await readFile(SCENE));
    // The circle is left of all that is painted. The star was yellow.
    expect(partOf(drawn, 0, 140)).toEqual(partOf(before, 0, 140));
    const [red, green] = drawn.subarray((128 * 256 + 192) * 3);
    expect(green).toBeGreaterThan(red + 40);

    const slider = page.getByRole('slider', { name: 'Before and after' });
    await slider.press('Home');
    expect(await slider.getAttribute('aria-valuetext')).toBe('0 % before');
    await page.getByRole('radio', { name: 'Picture', exact: true }).check();
    await page.locator('.mask').waitFor();
    await page.getByRole('radio', { name: 'Result', exact: true }).check();
    await page.getByRole('button', { name: 'Edit this' }).click();
    await page.locator('.mask').waitFor();
    await page.getByLabel('Mask from a file', { exact: true }).setInputFiles({
      name: 'mask.png',
      mimeType: 'image/png',
      buffer: await rightHalf(),
    });
    await expect.poll(() => page.getByRole('button', { name: 'Take back' }).isEnabled()).toBe(true);
    await page.keyboard.press('Control+Enter');
    await expect.poll(async () => (await jobsOf(stack)).length).toBe(2);
    await finished(page);
    expect(complaints).toEqual([]);
  });

  test('More is drawn around a picture of the gallery whose edges are moved with the keyboard or as numbers', {
    tags: ['long'],
  }, async () => {
    const stack = await demoStack(world.redis);
    await stack.worker();
    await stack.over((await stack.post({ prompt: PROMPT })).id);
    const { page, complaints } = await openStudio(world.browser);
    await enter(page, stack);
    await page.getByRole('link', { name: 'Gallery' }).click();
    await page.getByRole('button', { name: 'Edit this picture' }).click();
    expect(await page.locator('#prompt').inputValue()).toBe(PROMPT);
    await page.getByLabel('Around it').check();
    await page.getByRole('slider', { name: 'Right edge' }).press('ArrowRight');
    const top = page.getByRole('spinbutton', { name: 'Top', exact: true });
    await top.fill('60');
    await top.press('Enter');
    await finished(page);
    const [{ input, output }] = await jobsOf(stack);
    expect(input).toMatchObject({
      expand: { left: 0, right: 64, top: 64, bottom: 0 },
      width: 320,
      height: 320,
    });
    expect(output?.images?.[0]).toMatchObject({ width: 320, height: 320 });
    expect(complaints).toEqual([]);
  });

  test('A model that needs a picture says so in the list, and can be chosen once there is one', {
    tags: ['long'],
  }, async () => {
    const models = join(await tempFolder('models'), 'models.yaml');
    const folder = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));
    const demo = folder('packages/demo-models/models/demo-diffusion');
    const entries = [
      ['fine', 'sdxl-refiner', folder('lab/real/diffusion/fixtures/sdxl-refiner')],
      ['mend', 'sd-inpaint', demo],
      ['draw', 'sd', demo],
    ];
    const lines = entries.map(
      ([name, family, path]) =>
        `  - { name: ${name}, task: diffusion, family: ${family}, versions: [{ version: "1", path: ${path} }] }`,
    );
    await writeFile(models, `models:\n${lines.join('\n')}\n`);
    const stack = await demoStack(world.redis, { LEHR_MODELS: models });
    const { page, complaints } = await openStudio(world.browser);
    await enter(page, stack);
    const list = page.getByRole('combobox', { name: 'Model' });
    expect(await list.inputValue()).toBe('draw');
    const disabled = list.locator('option:disabled');
    expect(await disabled.allTextContents()).toEqual([
      'fine (changes a picture)',
      'mend (changes a part of a picture)',
    ]);
    await pasteFile(page, await readFile(SCENE));
    await expect.poll(() => disabled.count()).toBe(0);
    await list.selectOption('mend');
    await expect.poll(() => page.getByLabel('What I paint').isChecked()).toBe(true);
    await page.getByRole('link', { name: 'Compare' }).click();
    expect(await list.locator('option').allTextContents()).toEqual(['draw']);
    expect(complaints).toEqual([]);
  });

  test('Escape cancels a waiting job, and the page says so', { tags: ['long'] }, async () => {
    const stack = await demoStack(world.redis);
    const { page, complaints } = await openStudio(world.browser);
    await enter(page, stack);
    await make(page);
    await page.getByText('Next in line').waitFor();
    await page.keyboard.press('Escape');
    await page.getByText('Canceled.').waitFor();
    expect((await jobsOf(stack)).map(({ status }) => status)).toEqual(['canceled']);
    expect(complaints).toEqual([]);
  });

  test('With Speak as the first view, words that are spoken into the microphone are written, and become a picture', {
    tags: ['long'],
  }, async () => {
    const stack = await demoStack(world.redis);
    await stack.worker();
    const { page, complaints } = await openStudio(world.browser);
    await enter(page, stack);
    // The page is loaded anew: no other view has prepared the form of the picture.
    await page.goto(`${stack.url}/studio/speak`);
    const button = page.getByRole('button', { name: 'Hold to talk' });
    await button.hover();
    await page.mouse.down();
    // As long as the recorded sentence lasts: the level shows that the microphone hears it.
    await expect
      .poll(async () => Number(await page.getByRole('meter').getAttribute('aria-valuenow')))
      .toBeGreaterThan(5);
    await page.evaluate('new Promise((resolve) => setTimeout(resolve, 2600))');
    await page.mouse.up();
    const words = page.locator('.segment').first();
    await words.waitFor();
    expect(await words.textContent()).toMatch(/circle|blue|background/i);
    await words.click();
    // Runs in the page, where our types do not exist.
    await expect
      .poll(() => page.evaluate("document.querySelector('.transcript audio').played.length"))
      .toBeGreaterThan(0);
    await page.getByRole('button', { name: 'Correct the words' }).click();
    await page.getByLabel('Words at 0:00').fill('a green star');
    expect(await faultsOf(page)).toEqual([]);
    await page.getByRole('button', { name: 'Done correcting' }).click();
    expect(await words.textContent()).toContain('a green star');
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'srt' }).click();
    expect((await download).suggestedFilename()).toMatch(/^job_\w+\.srt$/);
    expect(await readFile(await (await download).path(), 'utf8')).toContain('a green star');
    await page.getByRole('button', { name: 'Make the picture of these words' }).click();
    await finished(page);
    expect(complaints).toEqual([]);
  });

  test('A field that the API refuses is named beside its control, too much work is explained once, and the model says what it draws', async () => {
    const stack = await demoStack(world.redis);
    const { page } = await openStudio(world.browser);
    await enter(page, stack);
    await page.getByRole('spinbutton', { name: 'Guidance' }).fill('99');
    await make(page);
    await expect.poll(() => page.locator('#setting-guidance-problem').textContent()).toContain('at most 50');

    await page.getByRole('spinbutton', { name: 'Guidance' }).fill('2');
    await page.getByRole('spinbutton', { name: 'Pictures' }).fill('8');
    await page.getByRole('spinbutton', { name: 'Steps' }).fill('100');
    await page.getByLabel('Square, 512 × 512').check();
    await make(page);
    const work = page.getByText('8 pictures of 512x512 pixels in 100 steps');
    await work.waitFor();
    expect(await work.count()).toBe(1);
    expect(await work.textContent()).toContain('210 million pixel steps, at most 52 million');
    expect(await page.locator('.hint', { hasText: 'squares, triangles, stars' }).count()).toBe(1);
  });

  test('A cut event stream is opened again, and the picture is finished', { tags: ['long'] }, async () => {
    const stack = await demoStack(world.redis);
    const proxy = await tcpProxy(Number(new URL(stack.url).port));
    const { page } = await openStudio(world.browser);
    await page.goto(`http://127.0.0.1:${proxy.port}/`);
    await page.getByLabel('API key').fill(stack.key);
    await page.keyboard.press('Enter');
    await page.getByLabel('Steps').first().waitFor();
    await make(page);
    await page.getByText('Next in line').waitFor();
    proxy.hold();
    proxy.reset();
    await page.getByText('Connection lost').waitFor();
    proxy.release();
    await stack.worker();
    await finished(page);
  });

  test('A link that is followed is used up, also in a browser that is signed in', {
    tags: ['long'],
  }, async () => {
    const stack = await demoStack(world.redis);
    const { page } = await openStudio(world.browser);
    await enter(page, stack);
    const made = await stack.ask('POST', '/studio/links');
    const { url } = (await made.json()) as { url: string };
    await page.goto('about:blank');
    await page.goto(url);
    await page.locator('#prompt').waitFor();
    const again = await fetch(new URL('/studio/session', url), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ code: new URL(url).hash.slice(1) }),
    });
    expect(again.status).toBe(401);
  });

  test('The page asks for the key again when the session has ended, and signing out ends it', {
    tags: ['long'],
  }, async () => {
    const stack = await demoStack(world.redis);
    const { page } = await openStudio(world.browser);
    await enter(page, stack);
    await page.locator('#prompt').fill(PROMPT);
    await endSessions(stack);
    await page.keyboard.press('Control+Enter');
    await page.getByText('Your session has ended').waitFor();
    await page.getByLabel('API key').fill('wrong');
    await page.keyboard.press('Enter');
    await page.getByText('This key is not known').waitFor();
    await page.getByLabel('API key').fill(stack.key);
    await page.keyboard.press('Enter');
    await page.locator('.account summary').click();
    await page.getByRole('button', { name: 'Sign out', exact: true }).click();
    await page.getByLabel('API key').waitFor();
    expect(
      await page.evaluate('JSON.stringify([localStorage, sessionStorage, document.cookie])'),
    ).not.toContain('lehr_test');
  });
});

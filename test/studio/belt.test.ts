/** The belt: what Lehr is doing now, drawn from the running system. */
import type { Browser, Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { JobSchema, NewApiKeySchema } from '../../packages/shared/src/index.ts';
import { chromiumPath } from '../support/browser.ts';
import type { Stack } from '../support/stack.ts';
import { tcpProxy } from '../support/tcp-proxy.ts';
import { checkView, DESK, faultsOf } from './look-at.ts';
import { demoStack, enter, openStudio, studioWorld } from './studio-world.ts';

const world = studioWorld();

/** Many jobs and a browser, on a machine that runs other tests as well. */
const JOBS = 24;
const PRIORITIES = ['interactive', 'standard', 'standard', 'bulk'] as const;
const OWN_PROMPT = 'a red circle on a blue background';
const OTHER_PROMPT = 'a purple triangle on a white background';

interface Posted {
  readonly own: readonly string[];
  readonly others: readonly string[];
}

/** Two batches: most pictures are of one size. */
const sizeOf = (i: number) => (i % 6 === 5 ? { width: 192, height: 128 } : { width: 128, height: 128 });

/** Pictures of two tenants, of all classes, with and without guidance; no two need the same steps. */
async function postMixed(stack: Stack, jobs = JOBS): Promise<Posted> {
  const made = await stack.ask('POST', '/v1/keys', { tenant: 'bob', scopes: ['submit', 'read'] });
  const { key } = NewApiKeySchema.parse(await made.json());
  const posted = { own: [] as string[], others: [] as string[] };
  for (let i = 0; i < jobs; i += 1) {
    const isOwn = i % 3 !== 1;
    const body = {
      type: 'text-to-image',
      priority: PRIORITIES[i % PRIORITIES.length],
      input: {
        prompt: isOwn ? OWN_PROMPT : OTHER_PROMPT,
        steps: 20 + ((i * 17) % 50),
        ...sizeOf(i),
        guidance: i % 4 === 2 ? 1 : 5,
        seed: i,
      },
    };
    const headers: Record<string, string> = isOwn ? {} : { authorization: `Bearer ${key}` };
    const response = await stack.ask('POST', '/v1/jobs', body, headers);
    if (response.status !== 202) throw new Error(`${response.status} ${await response.text()}`);
    const { id } = JobSchema.parse(await response.json());
    posted[isOwn ? 'own' : 'others'].push(id);
  }
  return posted;
}

async function openBelt(stack: Stack, options: Parameters<Browser['newContext']>[0] = {}) {
  const studio = await openStudio(world.browser, { viewport: DESK, ...options });
  await enter(studio.page, stack);
  await studio.page.getByRole('link', { name: 'Belt' }).click();
  return studio;
}

/** Of all queues together. */
async function waitingByClass(page: Page): Promise<Record<string, number>> {
  const sums: Record<string, number> = {};
  for (const text of await page.locator('.class-name').allTextContents()) {
    const [name, count] = text.split(' ');
    sums[name] = (sums[name] ?? 0) + Number(count);
  }
  return sums;
}

/** Of the own samples, how far the first one is ahead of the last one; 1 is the length of the belt. */
async function spreadOf(page: Page): Promise<number> {
  const texts = await page.locator('[data-state="riding"] .belt-tile-link [aria-hidden]').allTextContents();
  const parts = texts.map((text) => text.split('/').map(Number)).map(([step, steps]) => step / steps);
  return Math.max(0, ...parts) - Math.min(1, ...parts);
}

const ridingOf = (page: Page) => page.locator('.belt-tile[data-state="riding"]');

describe.skipIf(!chromiumPath)('the belt', () => {
  test('24 mixed jobs wait, join, ride by their own steps and leave; those of others are blank', {
    tags: ['long'],
  }, async () => {
    const stack = await demoStack(world.redis);
    const { page, complaints } = await openBelt(stack);
    await page.getByText('No worker is running').waitFor();
    const { own, others } = await postMixed(stack);
    await expect.poll(() => page.locator('.waiter').count()).toBeGreaterThan(20);
    await expect.poll(() => waitingByClass(page)).toEqual({ Interactive: 6, Standard: 12, Bulk: 6 });
    expect(await page.locator('.waiter[data-own="true"]').count()).toBeLessThan(own.length + 1);
    await stack.worker();

    await expect.poll(() => ridingOf(page).count()).toBeGreaterThan(5);
    const tile = page.locator('.belt-tile[data-own="true"][data-state="riding"]').first();
    const link = await tile.getByRole('link').getAttribute('href');
    expect(own).toContain(link?.split('/').at(-1));
    const blank = page.locator('.belt-tile[data-own="false"]');
    await expect.poll(() => blank.count()).toBeGreaterThan(0);
    expect(await blank.getByRole('link').count()).toBe(0);
    const html = await page.content();
    for (const secret of [...others, OTHER_PROMPT, 'bob']) expect(html).not.toContain(secret);

    const steps = async () => (await page.locator('.belt-tile-link').allTextContents()).join(' ');
    const before = await steps();
    await expect.poll(steps).not.toBe(before);
    await expect
      .poll(() => page.locator('.belt-tile[data-state="done"]').count(), { timeout: 120_000 })
      .toBeGreaterThan(0);
    await expect
      .poll(async () => Number(await page.locator('.rows-now strong').first().textContent()))
      .toBeGreaterThan(2);
    expect(complaints).toEqual([]);
  });

  test.each(['light', 'dark'] as const)(
    'A full belt is accessible and fits a phone: %s',
    { tags: ['long'] },
    async (colorScheme) => {
      const stack = await demoStack(world.redis);
      const { page, complaints } = await openBelt(stack, { colorScheme, reducedMotion: 'reduce' });
      await page.getByText('No worker is running').waitFor();
      expect(await faultsOf(page)).toEqual([]);
      await postMixed(stack);
      await stack.worker();
      await expect.poll(() => ridingOf(page).count()).toBeGreaterThan(5);
      await expect
        .poll(() => page.locator('.belt-tile[data-own="true"] .belt-tile-link').count())
        .toBeGreaterThan(2);
      // Some are near their end by then, and others have just joined.
      await expect.poll(() => spreadOf(page), { timeout: 120_000 }).toBeGreaterThan(0.6);
      await checkView(page, `belt-${colorScheme}`);
      expect(complaints).toEqual([]);
    },
  );

  test('The belt reads nothing while the page is hidden, and goes on when the connection is back', {
    tags: ['long'],
  }, async () => {
    const stack = await demoStack(world.redis);
    await stack.worker();
    const proxy = await tcpProxy(Number(new URL(stack.url).port));
    const { page } = await openStudio(world.browser);
    await page.goto(`http://127.0.0.1:${proxy.port}/studio/belt`);
    await page.getByLabel('API key').fill(stack.key);
    await page.keyboard.press('Enter');
    await page.getByText('Nothing is running').waitFor();
    const isRead = (request: { url(): string }) => request.url().endsWith('/v1/activity');
    const show = (state: string) =>
      page.evaluate(`Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true });
        document.dispatchEvent(new Event('visibilitychange'))`);
    await page.clock.install();
    await show('hidden');
    let reads = 0;
    page.on('request', (request) => {
      if (isRead(request)) reads += 1;
    });
    await page.clock.runFor(20_000);
    expect(reads).toBe(0);
    const next = page.waitForRequest(isRead);
    await show('visible');
    await next;
    await page.clock.resume();
    proxy.hold();
    proxy.reset();
    await page.getByText('Connection lost').waitFor();
    proxy.release();
    await page.getByText('Connection lost').waitFor({ state: 'detached' });
    stack.api.signal('SIGKILL');
    await stack.api.exited();
    await page.getByText('Connection lost').waitFor();
    await stack.restartApi();
    await page.getByText('Connection lost').waitFor({ state: 'detached' });
    await page.getByText('Nothing is running').waitFor();
  });
});

/** The charts: the metrics over time, drawn from a real Prometheus. */
import { gzipSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { CHART_NAMES } from '../../packages/shared/src/index.ts';
import { startPrometheus } from '../observe/prometheus.ts';
import { chromiumPath } from '../support/browser.ts';
import { freePort } from '../support/ports.ts';
import type { Stack } from '../support/stack.ts';
import { historyUntil } from './charts-history.ts';
import { DESK, faultsOf, lookAt } from './look-at.ts';
import { demoStack, enter, openStudio, studioWorld } from './studio-world.ts';

const world = studioWorld();

const LONG = { timeout: 240_000 };
const MAX_ROOM_BYTES = 40 * 1024;

const card = (page: Page, question: string) =>
  page.locator('.chart', { has: page.getByRole('heading', { name: question }) });

/** A system that a Prometheus scrapes each second; the worker too. */
async function observedStack(): Promise<Stack> {
  const [port, workerPort] = [await freePort(), await freePort()];
  const { url } = await startPrometheus({ 'lehr-api': port, 'lehr-worker': workerPort });
  const stack = await demoStack(world.redis, { LEHR_PORT: `${port}`, LEHR_PROMETHEUS_URL: url });
  await stack.worker({ LEHR_WORKER_PORT: `${workerPort}` });
  return stack;
}

/** A system with the metrics of a busy hour. */
async function stackWithHistory(): Promise<Stack> {
  const history = await historyUntil(Math.floor(Date.now() / 1000));
  const { url } = await startPrometheus({}, { history });
  return demoStack(world.redis, { LEHR_PROMETHEUS_URL: url });
}

describe.skipIf(!chromiumPath)('the charts', () => {
  test('Pictures that are made now appear in the charts, whose code is loaded when they are opened', {
    tags: ['long'],
  }, async () => {
    const stack = await observedStack();
    const { page, complaints } = await openStudio(world.browser, { viewport: DESK });
    const scripts: Promise<Buffer>[] = [];
    await enter(page, stack);
    page.on('response', (response) => {
      if (response.request().resourceType() === 'script') scripts.push(response.body());
    });
    await page.getByRole('link', { name: 'Charts' }).click();
    await page.getByRole('heading', { name: 'Charts' }).waitFor();
    const bytes = (await Promise.all(scripts)).reduce((sum, body) => sum + gzipSync(body).length, 0);
    expect(bytes).toBeGreaterThan(10_000);
    expect(bytes).toBeLessThan(MAX_ROOM_BYTES);
    await page.getByLabel('15 min').check();
    // Again and again, as often as Prometheus scrapes: a rate needs an increase between two scrapes.
    await expect
      .poll(
        async () => {
          await stack.over((await stack.post({ width: 64, height: 64, steps: 4 })).id);
          return card(page, 'How do jobs end?').locator('tbody tr').allTextContents();
        },
        { timeout: 120_000, interval: 1000 },
      )
      .toEqual([expect.stringMatching(/^succeeded[\d.]+ a minute/)]);
    await expect.poll(() => card(page, 'How full are the batches?').locator('canvas').count()).toBe(1);
    expect(await card(page, 'What fails?').textContent()).toContain('Nothing failed in this time');
    expect(complaints).toEqual([]);
  });

  test.each(['light', 'dark'] as const)(
    'A busy hour is accessible and fits a phone: %s',
    { tags: ['long'] },
    async (colorScheme) => {
      const stack = await stackWithHistory();
      const options = { viewport: DESK, colorScheme, reducedMotion: 'reduce' } as const;
      const { page, complaints } = await openStudio(world.browser, options);
      await enter(page, stack);
      await page.getByRole('link', { name: 'Charts' }).click();
      await expect.poll(() => page.locator('.chart canvas').count()).toBe(CHART_NAMES.length);
      await lookAt(page, `charts-${colorScheme}`, `charts-phone-${colorScheme}`);

      const jobs = card(page, 'How many jobs wait and run?');
      await jobs.locator('.u-over').hover();
      const time = jobs.locator('th[scope=col]').nth(1);
      await expect.poll(() => time.textContent()).toMatch(/\d:\d\d/);
      const elsewhere = card(page, 'Who uses the engines?').locator('th[scope=col]').nth(1);
      expect(await elsewhere.textContent()).toBe(await time.textContent());
      await page.getByLabel('6 h', { exact: true }).check();
      expect(complaints).toEqual([]);
    },
  );

  test('Without a Prometheus the page says how to have one, and it goes on when the connection is back', {
    tags: ['long'],
  }, async () => {
    const stack = await demoStack(world.redis);
    const { page } = await openStudio(world.browser);
    await page.goto(`${stack.url}/studio/charts`);
    await page.getByLabel('API key').fill(stack.key);
    await page.keyboard.press('Enter');
    await page.getByText('npm start -- --observe').waitFor();
    expect(await faultsOf(page)).toEqual([]);
    stack.api.signal('SIGKILL');
    await stack.api.exited();
    // A page that is seen again reads at once.
    await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
    await page.getByText('Connection lost').waitFor();
    await stack.restartApi();
    await page.getByText('Connection lost').waitFor({ state: 'detached' });
  });

  test(
    'A key without the scope admin has no link to the charts, and is refused at their address',
    LONG,
    async () => {
      const stack = await demoStack(world.redis);
      const made = await stack.ask('POST', '/v1/keys', { tenant: 'bob', scopes: ['submit', 'read'] });
      const { key } = (await made.json()) as { key: string };
      const { page } = await openStudio(world.browser);
      await page.goto(`${stack.url}/studio/charts`);
      await page.getByLabel('API key').fill(key);
      await page.keyboard.press('Enter');
      await page.getByRole('alert').filter({ hasText: 'admin' }).waitFor();
      await expect.poll(() => page.getByRole('link', { name: 'Gallery' }).count()).toBe(1);
      expect(await page.getByRole('link', { name: 'Charts' }).count()).toBe(0);
    },
  );
});

/** The EventSource of a browser, on a page of another origin, with the signed link alone. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { listen } from '../../apps/api/src/http/listen.ts';
import { apiWorld, PUBLIC_URL } from '../support/api-world.ts';
import { chromiumPath, launchBrowser, openPage } from '../support/browser.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

describe.skipIf(!chromiumPath)('a browser', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterAll(() => browser.close());

  test('A browser reconnects and follows a job to its end, and does not reconnect after that', async () => {
    const world = await apiWorld(server.url);
    const first = await listen('127.0.0.1', 0);
    first.serve(world.app.fetch);
    const { links } = await world.post();
    const { page } = await openPage(browser);
    const received: string[] = [];
    await page.exposeFunction('receive', (event: string) => received.push(event));
    const link = links.events_signed.replace(PUBLIC_URL, `http://127.0.0.1:${first.port}`);
    // Runs in the page, where our types do not exist.
    const closed = page.evaluate(`new Promise((resolve) => {
      const source = new EventSource(${JSON.stringify(link)});
      for (const type of ['queued', 'started', 'progress', 'succeeded']) {
        source.addEventListener('job.' + type, (event) => receive(event.lastEventId + ' ' + type));
      }
      source.onerror = () => {
        if (source.readyState === EventSource.CLOSED) resolve();
      };
    })`);
    await expect.poll(() => received).toEqual(['1 queued']);

    await first.close(0);
    const claim = await world.worker.take();
    await world.worker.progress(claim, 4);
    const second = await listen('127.0.0.1', first.port);
    onTestFinished(() => second.close(0));
    second.serve(world.app.fetch);
    await expect.poll(() => received, { timeout: 30_000 }).toHaveLength(3);
    await world.worker.succeed(claim);
    await closed;
    expect(received).toEqual(['1 queued', '2 started', '3 progress', '4 succeeded']);
    expect(world.parts.feeds.size).toBe(0);
  });
});

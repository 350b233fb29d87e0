import { createMetrics, systemClock } from '@lehr/shared';
import { expect, test } from 'vitest';
import { showEventLoopDelay } from './observe.ts';

/** The monitor ticks every 5 ms, and measures from its first tick on. */
const SOME_TICKS_MS = 100;
const PAUSE_MS = 300;

test('A scrape that waited through a pause of the event loop shows it', async () => {
  const { metrics, page } = createMetrics('worker');
  showEventLoopDelay(metrics, page);
  await systemClock.sleep(SOME_TICKS_MS);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
  const text = await page.render();
  const longest = Number(/event_loop_delay\w*\{[^}]*quantile="1"[^}]*\} (\S+)/.exec(text)?.[1]) * 1000;
  expect(longest).toBeGreaterThan(PAUSE_MS * 0.9);
});

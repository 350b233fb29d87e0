import { createMetrics } from '@lehr/shared';
import { expect, onTestFinished, test, vi } from 'vitest';
import { showEventLoopDelay, startEventLoopMonitor } from './observe.ts';

const PAUSE_MS = 300;

test('A scrape that waited through a pause of the event loop shows it', async () => {
  const { metrics, page } = createMetrics('worker');
  const monitor = startEventLoopMonitor();
  onTestFinished(() => void monitor.disable());
  showEventLoopDelay(metrics, page, monitor);
  await vi.waitFor(() => expect(monitor.count).toBeGreaterThan(0));
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
  const text = await page.render();
  const longest = Number(/event_loop_delay\w*\{[^}]*quantile="1"[^}]*\} (\S+)/.exec(text)?.[1]) * 1000;
  expect(longest).toBeGreaterThan(PAUSE_MS * 0.9);
});

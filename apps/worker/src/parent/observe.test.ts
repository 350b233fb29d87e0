import { createMetrics } from '@lehr/shared';
import { expect, onTestFinished, test, vi } from 'vitest';
import {
  EVENT_LOOP_TICK_MS,
  observeWorker,
  showEventLoopDelay,
  showFusions,
  startEventLoopMonitor,
} from './observe.ts';

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

test('The delay of the event loop is what a tick of its monitor took beyond its interval', async () => {
  const { metrics, page } = createMetrics('worker');
  const tickMs = (percent: number) => (percent === 100 ? EVENT_LOOP_TICK_MS + 250 : EVENT_LOOP_TICK_MS);
  showEventLoopDelay(metrics, page, { percentile: (percent) => tickMs(percent) * 1e6, reset: () => {} });
  const delays = [...(await page.render()).matchAll(/event_loop_delay\w*\{[^}]*\} (\S+)/g)];
  expect(delays.map(([, seconds]) => Number(seconds))).toEqual([0, 0, 0.25]);
});

test('A step shows how full its lane was and the time outside of its graph, and a claim its jobs', async () => {
  const { metrics, page } = createMetrics('worker');
  const observe = observeWorker(metrics);
  const lane = 'diffusion.brush@1.512x512';
  const stepped = { type: 'stepped', lane, rows: 4, cap: 16, ms: 70, samples: [] } as const;
  observe.stepped({ ...stepped, hostMs: 2 });
  // Short jobs of a full lane may take more rows than its cap.
  observe.stepped({ ...stepped, rows: 20 });
  observe.claimed(lane, 3, 5);
  const text = await page.render();
  const labels = '{model="brush",version="1"}';
  expect(text).toContain(`lehr_lane_occupancy_ratio_sum${labels} 1.25`);
  expect(text).toContain(`lehr_step_host_seconds_sum${labels} 0.002`);
  expect(text).toContain(`lehr_step_host_seconds_count${labels} 1`);
  expect(text).toContain(`lehr_claims_total${labels} 3`);
  expect(text).toContain('lehr_janitor_actions_total{action="recovered"} 0');
});

test('Operators of CUDA that a graph runs without count as exported, beside its fused attentions', async () => {
  const { metrics, page } = createMetrics('worker');
  const labels = { model: 'brush', version: '1' };
  const cuda = { operators: { GroupNorm: 16, NhwcConv: 97 } };
  const fusion = { attentions: 32, left: {} };
  showFusions(metrics, { ...labels, graph: 'unet' }, { ...fusion, cuda });
  showFusions(
    metrics,
    { ...labels, graph: 'other' },
    { ...fusion, cuda: { ...cuda, problem: 'it differs' } },
  );
  const left = { 'of node 1': 'GroupNorm', 'of node 2': 'BiasAdd', 'of node 3': 'BiasAdd' };
  showFusions(metrics, { ...labels, graph: 'some' }, { ...fusion, cuda: { ...cuda, left } });
  const text = await page.render();
  const of = (graph: string, operator: string, form: string) =>
    `lehr_model_fusions{model="brush",version="1",graph="${graph}",operator="${operator}",form="${form}"}`;
  expect(text).toContain(`${of('unet', 'GroupNorm', 'fused')} 16\n`);
  expect(text).toContain(`${of('unet', 'NhwcConv', 'exported')} 0\n`);
  expect(text).toContain(`${of('other', 'NhwcConv', 'fused')} 0\n`);
  expect(text).toContain(`${of('other', 'NhwcConv', 'exported')} 97\n`);
  expect(text).toContain(`${of('some', 'GroupNorm', 'fused')} 16\n`);
  expect(text).toContain(`${of('some', 'GroupNorm', 'exported')} 1\n`);
  expect(text).toContain(`${of('some', 'BiasAdd', 'fused')} 0\n`);
  expect(text).toContain(`${of('some', 'BiasAdd', 'exported')} 2\n`);
  expect(text).toContain(`${of('other', 'MultiHeadAttention', 'fused')} 32\n`);
});

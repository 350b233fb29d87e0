import { expect, test } from 'vitest';
import { addCounter, addHistogram, type Counts, modelSuffix } from './counts.ts';
import { createMetrics } from './metrics.ts';

test('Counters and histograms become numbers by model, whose differences are rates', async () => {
  const { metrics } = createMetrics('worker');
  const model = { model: 'tiny', version: '1' };
  metrics.requests.inc({ ...model, outcome: 'succeeded' }, 3);
  metrics.requests.inc({ ...model, outcome: 'failed' });
  metrics.queueTime.observe({ ...model, class: 'bulk' }, 2);
  metrics.queueTime.observe({ ...model, class: 'standard' }, 0.5);
  const counts: Counts = {};
  await addCounter(counts, metrics.requests, (labels) => `ended${modelSuffix(labels)}`);
  await addCounter(counts, metrics.requests, ({ outcome }) => (outcome === 'failed' ? 'failed' : undefined));
  await addHistogram(counts, metrics.queueTime, 'claimed', modelSuffix);
  expect(counts).toEqual({ 'ended tiny@1': 4, failed: 1, 'claimed tiny@1': 2, 'claimed_s tiny@1': 2.5 });
});

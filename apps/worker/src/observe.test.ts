import { createMetrics } from '@lehr/shared';
import type { JobRecord } from '@lehr/shared/records';
import { expect, test } from 'vitest';
import { observeWorker } from './observe.ts';

test('Jobs that expire in the queue are counted as in the API: by model, and workflows by type', async () => {
  const { metrics, page } = createMetrics('worker');
  const { expired } = observeWorker(metrics);
  const work = { type: 'text-to-image', queue: 'diffusion.tiny@1.64x64' };
  const workflow = { type: 'speech-to-image', queue: 'graphs', workflow: { nodes: [] } };
  for (const job of [work, work, workflow]) expired(job as unknown as JobRecord);
  const text = await page.render();
  expect(text).toContain('lehr_requests_total{model="tiny",version="1",outcome="expired"} 2\n');
  expect(text).toContain('lehr_requests_total{model="speech-to-image",version="",outcome="expired"} 1\n');
});

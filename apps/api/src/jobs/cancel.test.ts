import { createMetrics } from '@lehr/shared';
import type { JobRecord } from '@lehr/shared/records';
import { expect, test } from 'vitest';
import { countExpired } from './cancel.ts';

test('Jobs that expired in the queue are counted by model, and workflows by type', async () => {
  const { metrics, page } = createMetrics('api');
  const count = countExpired(metrics);
  const work = { type: 'text-to-image', model: 'tiny@1' };
  const workflow = { type: 'speech-to-image', model: 'ear@1+tiny@1', workflow: { nodes: [] } };
  for (const job of [work, work, workflow]) count(job as unknown as JobRecord);
  const text = await page.render();
  expect(text).toContain('lehr_requests_total{model="tiny",version="1",outcome="expired"} 2\n');
  expect(text).toContain('lehr_requests_total{model="speech-to-image",version="",outcome="expired"} 1\n');
});

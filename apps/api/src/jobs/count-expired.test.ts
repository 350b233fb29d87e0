import { createMetrics } from '@lehr/shared';
import type { JobRecord } from '@lehr/shared/records';
import { expect, test } from 'vitest';
import { countExpired } from './count-expired.ts';

test('jobs that expired in the queue are counted by model, those made of jobs without one', async () => {
  const { metrics, page } = createMetrics('api');
  const count = countExpired(metrics);
  for (const queue of ['diffusion.tiny@1.64x64', 'diffusion.tiny@1.96x64', 'graphs']) {
    count({ queue } as JobRecord);
  }
  const text = await page.render();
  expect(text).toContain('lehr_requests_total{model="tiny",version="1",outcome="expired"} 2\n');
  expect(text).toContain('lehr_requests_total{model="",version="",outcome="expired"} 1\n');
});

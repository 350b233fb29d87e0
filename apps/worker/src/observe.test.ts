import { createMetrics, type ErrorCode } from '@lehr/shared';
import type { JobRecord } from '@lehr/shared/records';
import { expect, test } from 'vitest';
import { observeWorker } from './observe.ts';
import type { JobRun } from './runs/job-run.ts';

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

test('Failed jobs are counted by code, and by whether their input or the service was at fault', async () => {
  const { metrics, page } = createMetrics('worker');
  const { ended, endedAtClaim } = observeWorker(metrics);
  const queue = 'diffusion.tiny@1.64x64';
  const failed = (code: ErrorCode) => {
    const record = { queue, priority: 'interactive' };
    ended({ record, queuedMs: 4_000, stopReason: { kind: 'failed', code } } as unknown as JobRun, 'failed');
  };
  failed('invalid-input');
  failed('numeric-error');
  endedAtClaim(queue, 'failed', 'attempts-exhausted');
  const text = await page.render();
  const counted = (labels: string) => `lehr_job_failures_total{model="tiny",version="1",${labels}} 1\n`;
  expect(text).toContain(counted('code="invalid-input",fault="caller"'));
  expect(text).toContain(counted('code="numeric-error",fault="service"'));
  expect(text).toContain(counted('code="attempts-exhausted",fault="service"'));
  expect(text).toContain('lehr_queue_time_seconds_count{model="tiny",version="1",class="interactive"} 2\n');
});

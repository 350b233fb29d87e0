/** Batches that never change, for screenshots (sample-answers.ts). */
import { SUCCEEDED_JOB } from '../../apps/api/src/routes/examples.ts';
import { BatchLineListSchema, BatchListSchema } from '../../packages/shared/src/index.ts';

export const NOW = '2026-11-23T10:00:00.000Z';

export const BATCHES = BatchListSchema.parse({
  object: 'list',
  data: [
    ['Ten thousand tiles', 'in_progress', 10_000, 6_412, 3],
    ['Seeds of a lighthouse', 'completed', 64, 64, 0],
    ['Calls of Tuesday', 'completed', 812, 809, 3],
    ['Old covers', 'expired', 2_000, 1_204, 796],
  ].map(([name, status, total, completed, failed], i) => ({
    id: `batch_01jd3v9s6w000000000000000${i}`,
    object: 'batch',
    endpoint: '/v1/jobs',
    errors: null,
    input_file_id: null,
    source: 'requests',
    completion_window: '24h',
    status,
    output_file_id: status === 'in_progress' ? null : `file_01jd3v9s6w000000000000000${i}`,
    error_file_id: null,
    created_at: Date.parse(NOW) / 1000 - 3600 * (i + 1),
    in_progress_at: null,
    expires_at: Date.parse(NOW) / 1000 + 86_400,
    finalizing_at: null,
    completed_at: null,
    failed_at: null,
    expired_at: null,
    cancelling_at: null,
    cancelled_at: null,
    request_counts: { total, completed, failed },
    metadata: { name },
    priority: 'bulk',
    webhook: null,
    retried_from: null,
  })),
  first_id: null,
  last_id: null,
  has_more: false,
});

/** A circle, so that no file is asked for. */
const circle = (hue: number): string =>
  `data:image/svg+xml,${encodeURIComponent(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 4 4"><path fill="hsl(${hue} 60% 85%)" d="M0 0h4v4H0z"/><circle cx="2" cy="2" r="1" fill="hsl(${hue} 70% 45%)"/></svg>`)}`;

const [IMAGE] = SUCCEEDED_JOB.output?.images ?? [];
const STATES = ['succeeded', 'succeeded', 'succeeded', 'succeeded', 'failed', 'running', 'queued'] as const;

export const LINES = BatchLineListSchema.parse({
  data: STATES.flatMap((status, i) => [
    { status, steps: 4 * (i + 1), seed: 1 },
    { status, steps: 4 * (i + 1), seed: 2 },
  ]).map(({ status, ...values }, i) => ({
    line: i + 1,
    custom_id: `line-${i + 1}`,
    values,
    ...(status === 'failed'
      ? { error: { code: 'invalid-input', message: 'input.steps must be at most 16.' } }
      : {
          job: {
            ...SUCCEEDED_JOB,
            status,
            progress: status === 'running' ? { stage: 'denoise', step: 8, steps: 20, fraction: 0.4 } : null,
            output: status === 'succeeded' ? { images: [{ ...IMAGE, url: circle(24 * i) }] } : null,
          },
        }),
  })),
  next_cursor: '0.14',
  has_more: true,
});

/** Of the second one, as it was before its end. The stream ends with it, so that the page waits for no other. */
export const BATCH_EVENT = `event: batch.completed
data: ${JSON.stringify({
  type: 'batch.completed',
  timestamp: NOW,
  data: {
    ...BATCHES.data[1],
    source: 'sweep',
    status: 'in_progress',
    request_counts: { total: 64, completed: 8, failed: 2 },
  },
})}

`;

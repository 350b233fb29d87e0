/** Webhooks in the native dialect: `{type, timestamp, data}` with the job, less what makes it too large. */
import { isTextJobType, type Job } from '@lehr/shared';
import type { Presenter } from '../../jobs/present.ts';
import { happenedAt, type Renderer } from '../../webhooks/event-message.ts';

/** Standard Webhooks recommends small bodies; many receivers refuse larger ones. */
const MAX_BODY_BYTES = 20_000;

export function nativeRenderer(presenter: Presenter): Renderer {
  return {
    retries: () => true,
    render: async (record, event) => ({
      type: event,
      timestamp: new Date(happenedAt(record)).toISOString(),
      // A stored result of texts is larger than a webhook may be, so its link is sent.
      data: fitted(await presenter.job(record, { brief: isTextJobType(record.type) })),
    }),
  };
}

type Fitted = Job & { readonly left_out?: readonly string[] };

const withoutResult = (job: Job, field: 'embeddings' | 'labels' | 'fills' | 'entities'): Job => ({
  ...job,
  output: job.output && { ...job.output, [field]: undefined },
});

/** In the order of leaving out: first what the receiver has already or can fetch. Links and metadata always stay. */
const CUTS: readonly (readonly [field: string, cut: (job: Job) => Job])[] = [
  ['output.segments', (job) => ({ ...job, output: job.output && { ...job.output, segments: undefined } })],
  ['nodes', (job) => ({ ...job, nodes: undefined })],
  ['input', (job) => ({ ...job, input: {} })],
  ['output.embeddings', (job) => withoutResult(job, 'embeddings')],
  ['output.labels', (job) => withoutResult(job, 'labels')],
  ['output.fills', (job) => withoutResult(job, 'fills')],
  ['output.entities', (job) => withoutResult(job, 'entities')],
  ['output.text', (job) => ({ ...job, output: job.output && { ...job.output, text: undefined } })],
];

/** The job with as few fields left out as fit the limit, and their names in `left_out`. */
export function fitted(job: Job, maxBytes = MAX_BODY_BYTES): Fitted {
  let cut = job;
  const leftOut: string[] = [];
  for (const [field, leaveOut] of CUTS) {
    if (Buffer.byteLength(JSON.stringify(cut)) <= maxBytes) break;
    const smaller = leaveOut(cut);
    if (JSON.stringify(smaller).length === JSON.stringify(cut).length) continue;
    cut = smaller;
    leftOut.push(field);
  }
  return leftOut.length > 0 ? { ...cut, left_out: leftOut } : cut;
}

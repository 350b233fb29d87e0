/** Presents a batch as OpenAI's clients know it. */
import { BATCH_EVENTS, type Batch, type BatchEvent, fileIdOfBatch } from '@lehr/shared';
import { type BatchRecord, isEnded } from './batch-store.ts';

export const OUTPUTS = ['output', 'error'] as const;
export type BatchOutput = (typeof OUTPUTS)[number];

/** Undefined for a file that the batch has not, because nothing succeeded, or nothing failed. */
export function outputFileOf({ id, completed, failed, ended_at }: BatchRecord, output: BatchOutput) {
  const lines = output === 'output' ? completed : failed;
  return ended_at === undefined || lines === 0 ? undefined : fileIdOfBatch(id, output);
}

export function presentBatch(batch: BatchRecord): Batch {
  const { source, state, ended_at } = batch;
  const ended = (as: BatchRecord['state']): number | null => (state === as ? seconds(ended_at) : null);
  return {
    id: batch.id,
    object: 'batch',
    endpoint: batch.endpoint,
    errors: batch.errors ? { object: 'list', data: batch.errors } : null,
    input_file_id: source.from === 'file' ? source.file : null,
    source: source.from,
    completion_window: batch.completion_window,
    status: statusOf(batch),
    output_file_id: outputFileOf(batch, 'output') ?? null,
    error_file_id: outputFileOf(batch, 'error') ?? null,
    created_at: Math.floor(batch.created_at / 1000),
    in_progress_at: seconds(batch.in_progress_at),
    expires_at: Math.floor(batch.expires_at / 1000),
    finalizing_at: seconds(batch.ending_at),
    completed_at: ended('completed'),
    failed_at: ended('failed'),
    expired_at: ended('expired'),
    cancelling_at: seconds(batch.cancelling_at),
    cancelled_at: ended('cancelled'),
    request_counts: { total: batch.total, completed: batch.completed, failed: batch.failed },
    metadata: batch.metadata,
    priority: batch.priority,
    webhook: batch.webhook === undefined ? null : { url: batch.webhook },
    retried_from: source.from === 'retry' ? source.batch : null,
  };
}

/** The event of a batch: its progress, or its end. */
export const batchEventOf = (batch: Batch, at: number): BatchEvent => ({
  type: BATCH_EVENTS.find((event) => event === `batch.${batch.status}`) ?? 'batch.progress',
  timestamp: new Date(at).toISOString(),
  data: batch,
});

function statusOf(batch: BatchRecord): Batch['status'] {
  const { state, reason } = batch;
  if (state === 'ending' || (!isEnded(batch) && reason !== undefined))
    return reason === 'cancelled' ? 'cancelling' : 'finalizing';
  return state;
}

const seconds = (ms: number | undefined): number | null => (ms === undefined ? null : Math.floor(ms / 1000));

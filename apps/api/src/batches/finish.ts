/** The end of a batch: its output and its errors become files, and it is kept as long as they are. */

import type { Metrics } from '@lehr/shared';
import { fileIdOfBatch } from '@lehr/shared';
import type { Files } from '../jobs/files/files.ts';
import type { BatchRecord, BatchStore, Reason } from './batch-store.ts';

export interface FinishParts {
  readonly batches: BatchStore;
  readonly files: Files;
  readonly metrics: Pick<Metrics<'api'>, 'batchesEnded'>;
  readonly outputTtlMs: number;
}

const OUTPUTS = ['output', 'error'] as const;
export type BatchOutput = (typeof OUTPUTS)[number];

/** Undefined for a file that the batch has not, because nothing succeeded, or nothing failed. */
export function outputFileOf({ id, completed, failed, ended_at }: BatchRecord, output: BatchOutput) {
  const lines = output === 'output' ? completed : failed;
  return ended_at === undefined || lines === 0 ? undefined : fileIdOfBatch(id, output);
}

export async function finishBatch(
  { batches, files, metrics, outputTtlMs }: FinishParts,
  batch: BatchRecord,
  reason: Reason,
): Promise<void> {
  const { id, tenant } = batch;
  // While it ran its ended jobs were counted, also those that were deleted before their answers were stored.
  const { written } = batch;
  const ended = {
    ...batch,
    completed: written,
    failed: batch.total - written,
    ended_at: await batches.now(),
  };
  for (const output of OUTPUTS) {
    const file = outputFileOf(ended, output);
    if (file) await files.keepOutput(tenant, file, { name: `${id}_${output}.jsonl`, batch: { id, output } });
  }
  await batches.finish(
    batch,
    { state: reason, reason, ended_at: ended.ended_at, completed: ended.completed, failed: ended.failed },
    outputTtlMs,
  );
  metrics.batchesEnded.inc({ status: reason });
}

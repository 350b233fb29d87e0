/** The end of a batch: its output and its errors become files, and it is kept as long as they are. */

import type { JobId, Metrics } from '@lehr/shared';
import type { Keys } from '@lehr/shared/redis';
import type { Files } from '../jobs/files/files.ts';
import { type OpenArguments, openArguments, PENDING_MS } from '../webhooks/deliveries/deliveries.ts';
import type { BatchRecord, BatchStore, Reason } from './batch-store.ts';
import { batchEventOf, OUTPUTS, outputFileOf, presentBatch } from './present-batch.ts';

export interface FinishParts {
  readonly keys: Keys;
  readonly batches: BatchStore;
  readonly files: Files;
  readonly metrics: Pick<Metrics<'api'>, 'batchesEnded'>;
  readonly outputTtlMs: number;
}

export async function finishBatch(
  { keys, batches, files, metrics, outputTtlMs }: FinishParts,
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
  const { completed, failed, ended_at } = ended;
  const fields = { state: reason, reason, ended_at, completed, failed };
  const webhook = webhookOf(keys, { ...ended, state: reason, reason });
  if (await batches.finish(batch, fields, outputTtlMs, webhook)) metrics.batchesEnded.inc({ status: reason });
}

/** Its id is a function of the batch, which has one event. */
function webhookOf(
  keys: Keys,
  batch: BatchRecord & { readonly ended_at: number },
): OpenArguments | undefined {
  const { id, tenant, webhook: url } = batch;
  if (url === undefined) return undefined;
  const body = batchEventOf(presentBatch(batch), batch.ended_at);
  return openArguments(
    keys,
    // Deliveries are kept by the id of whom they are about.
    { job: id as string as JobId, event: body.type, id: `msg_${id.slice('batch_'.length).toUpperCase()}` },
    { tenant, signer: tenant, url, retried: '1', body: JSON.stringify(body) },
    PENDING_MS,
  );
}

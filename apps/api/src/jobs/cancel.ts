/** Calling a job off, and forgetting one that is over. */
import { toObjectKey } from '@lehr/shared';
import type { ObjectStore } from '@lehr/shared/objects';
import type { GroupQueues } from '@lehr/shared/queue';
import type { JobRecord, RecordStore } from '@lehr/shared/records';
import type { WebhookParts } from '../webhooks/parts.ts';

interface CancelParts {
  readonly records: RecordStore;
  readonly queues: GroupQueues;
}

/** `asked`: a worker runs it and was told; `canceled`: it took effect now; `over`: it had ended before. */
export type CancelOutcome = 'canceled' | 'asked' | 'over';

export async function cancelJob(parts: CancelParts, record: JobRecord): Promise<CancelOutcome> {
  const [{ code }] = await parts.records.apply([{ move: 'cancel', id: record.id }]);
  if (code === 'requested') return 'asked';
  if (code !== 'ok') return 'over';
  // A crash before this leaves an entry that a worker closes when it claims it and finds the record ended.
  await parts.queues.of(record.queue).remove(record.id);
  return 'canceled';
}

/**
 * Removes a finished job: outputs first, so that a failure in between leaves a record that can be deleted again.
 * Rejects with `storage-failed` when the store refuses.
 */
export async function forgetJob(
  parts: CancelParts & { store: ObjectStore; webhooks: Pick<WebhookParts, 'deliveries'> },
  record: JobRecord,
): Promise<void> {
  const images = record.state === 'succeeded' ? record.output.images : [];
  await Promise.all(images.map((image) => parts.store.delete(toObjectKey(image.key))));
  await parts.queues.of(record.queue).remove(record.id);
  await parts.webhooks.deliveries.forget(record.id);
  await parts.records.delete(record);
}

/** Calling a job off, and forgetting one that is over. */
import { AudioSourceSchema, LehrError, toObjectKey } from '@lehr/shared';
import type { ObjectStore } from '@lehr/shared/objects';
import type { GroupQueues, WorkflowRunner } from '@lehr/shared/queue';
import { isTerminal, type JobRecord, type RecordStore } from '@lehr/shared/records';
import type { WebhookParts } from '../webhooks/parts.ts';

interface CancelParts {
  readonly workflows: WorkflowRunner;
  readonly records: RecordStore;
  readonly queues: GroupQueues;
}

/** `asked`: a worker runs it and was told; `canceled`: it took effect now; `over`: it had ended before. */
export type CancelOutcome = 'canceled' | 'asked' | 'over';

export async function cancelJob(parts: CancelParts, record: JobRecord): Promise<CancelOutcome> {
  const [{ code }] = await parts.records.apply([{ move: 'cancel', id: record.id }]);
  if (code === 'requested') return 'asked';
  if (code !== 'ok') return 'over';
  // A crash before this leaves an entry that a worker closes when it claims it and finds the record ended, and a workflow
  // that the janitor sees to.
  if (record.workflow) await parts.workflows.advance(record.id);
  else await parts.queues.of(record.queue).remove(record.id);
  if (record.parent) await parts.workflows.advance(record.parent);
  return 'canceled';
}

type ForgetParts = CancelParts & { store: ObjectStore; webhooks: Pick<WebhookParts, 'deliveries'> };

/**
 * Removes a finished job and returns true; false when a part of it has still to stop, of which its worker was told. Outputs first, so that a failure in between leaves a record that can be deleted again. Files that were
 * uploaded on their own stay; other jobs may read them. Throws `conflict` for a node of a workflow, and rejects with
 * `storage-failed` when the store refuses.
 */
export async function forgetJob(parts: ForgetParts, record: JobRecord): Promise<boolean> {
  if (record.parent) {
    throw new LehrError('conflict', `This job is a part of ${record.parent} and goes with it.`);
  }
  const ids = record.workflow?.nodes.map(({ job }) => job) ?? [];
  const nodes = ids.length > 0 ? await parts.records.readMany(ids) : [];
  if (nodes.some((node) => node && !isTerminal(node.state))) {
    // Its record is what its end is written to.
    await parts.workflows.advance(record.id);
    return false;
  }
  // The whole last: until then it can be found, and deleted again.
  for (const node of nodes) if (node) await forget(parts, node);
  await forget(parts, record);
  return true;
}

async function forget(parts: ForgetParts, record: JobRecord): Promise<void> {
  // What a workflow made belongs to its nodes.
  const keys = record.workflow ? [] : [...outputKeys(record), ...attachedKeys(record)];
  await Promise.all(keys.map((key) => parts.store.delete(toObjectKey(key))));
  await parts.queues.of(record.queue).remove(record.id);
  await parts.webhooks.deliveries.forget(record.id);
  await parts.records.delete(record);
}

function outputKeys(record: JobRecord): string[] {
  if (record.state !== 'succeeded') return [];
  const { images, transcript } = record.output;
  return [...images.map(({ key }) => key), ...(transcript?.key ? [transcript.key] : [])];
}

/** Audio that came with the request itself. */
function attachedKeys({ id, parent, input }: JobRecord): string[] {
  const audio = AudioSourceSchema.safeParse(input.audio).data;
  const isOurs = audio?.kind === 'object' && audio.key.includes(`/${parent ?? id}/`);
  return isOurs ? [audio.key] : [];
}

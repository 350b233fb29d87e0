/** Cancels a job, deletes one that is over, and counts the ends that workers do not count. */
import { LehrError, type Metrics } from '@lehr/shared';
import type { GroupQueues, WorkflowRunner } from '@lehr/shared/queue';
import { isTerminal, type JobOutline, type JobRecord, type RecordStore } from '@lehr/shared/records';
import type { Keys, Redis } from '@lehr/shared/redis';
import type { WebhookParts } from '../webhooks/parts.ts';
import { deleteJobObjects, type JobObjectParts, noteOpenEntry } from './leftovers.ts';

interface CancelParts {
  readonly workflows: WorkflowRunner;
  readonly records: RecordStore;
  readonly queues: GroupQueues;
}

/** `requested`: the worker that runs the job has yet to stop it; `canceled`: done; `over`: the job had ended before. */
export type CancelOutcome = 'canceled' | 'requested' | 'over';

/** Also counts a job that ends by it; a worker counts one that it stops. */
export async function cancelJob(
  parts: CancelParts & { readonly metrics: Pick<Metrics<'api'>, 'requests'> },
  record: JobOutline,
): Promise<CancelOutcome> {
  const [{ code }] = await parts.records.apply([{ move: 'cancel', id: record.id }]);
  if (code === 'requested') return 'requested';
  if (code !== 'ok') return 'over';
  await leaveQueue(parts, record);
  parts.metrics.requests.inc({ ...metricLabels(record), outcome: 'canceled' });
  return 'canceled';
}

/** For a job that was cancelled while it waited. */
export async function leaveQueue(parts: CancelParts, record: JobOutline): Promise<void> {
  // After a crash here a worker removes the queue entry when it claims it and finds the record ended, and the janitor
  // advances the workflow.
  if (record.workflow) await parts.workflows.advance(record.id);
  else await parts.queues.of(record.queue).remove(record.id);
  if (record.parent) await parts.workflows.advance(record.parent);
}

export interface DeleteParts extends CancelParts, JobObjectParts {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly webhooks: Pick<WebhookParts, 'deliveries'>;
}

/**
 * Deletes a job that is over. Returns false, with nothing deleted, while a node of a workflow still runs; it is being canceled.
 * Its objects go first, so that after a failure the record is still there and can be deleted again. Uploaded files stay; other jobs
 * may use them. Throws `conflict` for a node of a workflow and `storage-failed` when the store fails.
 */
export async function deleteJob(parts: DeleteParts, record: JobRecord): Promise<boolean> {
  if (record.parent) {
    throw new LehrError(
      'conflict',
      `This job is a node of the workflow ${record.parent}. Delete the workflow instead.`,
    );
  }
  const ids = record.workflow?.nodes.map(({ job }) => job) ?? [];
  const { records: nodes } = await parts.records.outlines(ids);
  if (nodes.some((node) => node && !isTerminal(node.state))) {
    await parts.workflows.advance(record.id);
    return false;
  }
  const { tenant } = record;
  await Promise.all([...ids, record.id].map((id) => deleteJobObjects(parts, { tenant, id })));
  // The workflow last: until then it can be found and deleted again.
  for (const node of nodes) if (node) await deleteRecord(parts, node);
  await deleteRecord(parts, record);
  return true;
}

async function deleteRecord(parts: DeleteParts, record: JobOutline): Promise<void> {
  // The worker that ended the job may have yet to close its entry.
  if (!(await parts.queues.of(record.queue).remove(record.id))) await noteOpenEntry(parts, record);
  await parts.webhooks.deliveries.delete(record.id);
  await parts.records.delete(record);
}

/** Counts jobs whose deadline passed in the queue; workers count all ends but these and canceled ones. */
export function countExpired(metrics: Pick<Metrics<'api'>, 'requests'>): (job: JobOutline) => void {
  return (job) => metrics.requests.inc({ ...metricLabels(job), outcome: 'expired' });
}

/** A workflow is labelled with its type, because combinations of models would be too many series; its nodes with their models. */
export function metricLabels(record: JobOutline): { model: string; version: string } {
  if (record.workflow) return { model: record.type, version: '' };
  const [model, version] = record.model.split('@');
  return { model, version };
}

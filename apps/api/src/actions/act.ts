/** What an action does to one job. Safe to repeat: after a crash, the jobs of a page are done again. */
import { type JobActionName, type JobId, jobIdOfTick, LehrError, type PriorityClass } from '@lehr/shared';
import type { Prioritizer } from '@lehr/shared/queue';
import { isTerminal, type JobOutline } from '@lehr/shared/records';
import type { Caller } from '../access/auth/authenticator.ts';
import { cancelJob, type DeleteParts, deleteJob } from '../jobs/cancel.ts';
import { type CallParts, countJob } from '../jobs/requests/make-job.ts';
import { retryOf } from '../jobs/retry.ts';
import { submitJob } from '../jobs/submit.ts';
import type { StoredAction } from './action-store.ts';

export type ActParts = DeleteParts &
  CallParts & {
    readonly metrics: Parameters<typeof cancelJob>[0]['metrics'];
    readonly prioritizer: Prioritizer;
  };

export type ActOutcome = 'done' | 'skipped';

/** Whether the action applies to a job in its present state. */
export function applies(
  action: JobActionName,
  priority: PriorityClass | undefined,
  job: JobOutline,
): boolean {
  const hasEnded = isTerminal(job.state);
  if (action === 'cancel') return !hasEnded;
  if (action === 'retry') return hasEnded && !job.workflow && job.retried_as === undefined;
  if (action === 'delete') return hasEnded;
  const waits = job.state === 'queued' || job.state === 'scheduled';
  return waits && !job.workflow && job.priority !== priority;
}

/** It applied to the job when it was found, so what it leads to was done by it. Rejects as the single action does. */
export async function act(
  parts: ActParts,
  caller: Caller,
  action: StoredAction,
  id: JobId,
): Promise<ActOutcome> {
  switch (action.action) {
    case 'cancel':
      return cancelOne(parts, id);
    case 'retry':
      return retryOne(parts, caller, action, id);
    case 'delete': {
      const record = await parts.records.read(id);
      return !record || (await deleteJob(parts, record)) ? 'done' : 'skipped';
    }
    case 'prioritize':
      return prioritizeOne(parts, action.priority, id);
  }
}

async function cancelOne(parts: ActParts, id: JobId): Promise<ActOutcome> {
  const job = await outlineOf(parts, id);
  if (!job) return 'skipped';
  if (job.state === 'canceled' || (await cancelJob(parts, job)) !== 'over') return 'done';
  return (await outlineOf(parts, id))?.state === 'canceled' ? 'done' : 'skipped';
}

async function retryOne(
  parts: ActParts,
  caller: Caller,
  { id: action, tenant, page_at }: StoredAction,
  id: JobId,
): Promise<ActOutcome> {
  const of = await parts.records.read(id);
  if (!of) throw new LehrError('not-found', 'The job was deleted before it was retried.');
  const own = { id: jobIdOfTick(`${action} ${id}`, page_at) };
  if (of.retried_as !== undefined && of.retried_as !== own.id) return 'skipped';
  // Another action may come to the job at the same time.
  const once = { idempotency: { hash: `retry-of-${id}`, fingerprint: id } };
  const { record, how } = await submitJob(parts, { ...caller, tenant }, retryOf(of), once, own);
  if (how === 'new') countJob(parts, record);
  // After a crash the action comes to its own job again.
  return record.id === own.id ? 'done' : 'skipped';
}

async function prioritizeOne(
  parts: ActParts,
  priority: PriorityClass | undefined,
  id: JobId,
): Promise<ActOutcome> {
  const job = await outlineOf(parts, id);
  if (!job || priority === undefined) return 'skipped';
  return (await parts.prioritizer.change(job, priority)) === 'stale' ? 'skipped' : 'done';
}

const outlineOf = async ({ records }: ActParts, id: JobId): Promise<JobOutline | undefined> =>
  (await records.outlines([id])).records[0];

/** The end of a job that is not tried again. It was claimed, and is never run here. */
import { type JobState, LehrError, type Log, type WorkerId } from '@lehr/shared';
import type { Claim, GroupQueues, Leases, WorkflowRunner } from '@lehr/shared/queue';
import type { RecordStore } from '@lehr/shared/records';

export interface GiveUpParts {
  readonly worker: WorkerId;
  readonly queues: GroupQueues;
  readonly records: RecordStore;
  readonly workflows: WorkflowRunner;
  readonly leases: Leases;
  readonly log: Log;
  readonly onUnrun: (queue: string, end: JobState) => void;
}

/** Fails the job under the lease of its claim; `as` says what is written when it is not that its attempts are used up. */
export async function giveUp(
  { worker, queues, records, workflows, leases, log, onUnrun }: GiveUpParts,
  claim: Claim,
  why: string,
  as = new LehrError('attempts-exhausted', `The job was ${why}.`),
): Promise<void> {
  log.warn({ job: claim.jobId, why }, 'job given up');
  const { code, title, message: detail, retryable } = as;
  const error = { code, title, detail, retryable };
  // Whether it is queued or running under a lease that is gone, this claim holds the only live lease.
  const [started, failed] = await records.apply([
    { move: 'start', id: claim.jobId, lease: claim.token, fields: { worker } },
    { move: 'fail', id: claim.jobId, lease: claim.token, fields: { error } },
  ]);
  if (failed.code === 'ok') onUnrun(claim.queue, 'failed');
  leases.remove(claim.jobId);
  const parent = started.record?.parent;
  if (parent) await workflows.advance(parent);
  await queues.of(claim.queue).fail(claim, why);
}

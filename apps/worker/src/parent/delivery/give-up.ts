/** Fails a job that this worker has claimed and does not run. */
import type { ErrorCode, JobState, Log, PlainError, WorkerId } from '@lehr/shared';
import type { Claim, GroupQueues, Leases, WorkflowRunner } from '@lehr/shared/queue';
import { type RecordStore, toStoredError } from '@lehr/shared/records';

export interface GiveUpParts {
  readonly worker: WorkerId;
  readonly queues: GroupQueues;
  readonly records: RecordStore;
  readonly workflows: WorkflowRunner;
  readonly leases: Leases;
  readonly log: Log;
  readonly onEndedAtClaim: (queue: string, end: JobState, code: ErrorCode) => void;
}

/** Fails the job under the lease of its claim. `error` is what its caller reads. */
export async function giveUp(
  { worker, queues, records, workflows, leases, log, onEndedAtClaim }: GiveUpParts,
  claim: Claim,
  error: PlainError,
): Promise<void> {
  log.warn({ job: claim.jobId, error, deferredFailure: claim.deferredFailure }, 'job given up');
  // Whether it is queued or running under a lease that is gone, this claim holds the only live lease.
  const [started, failed] = await records.apply([
    { move: 'start', id: claim.jobId, lease: claim.token, fields: { worker } },
    { move: 'fail', id: claim.jobId, lease: claim.token, fields: { error: toStoredError(error) } },
  ]);
  if (failed.code === 'ok') onEndedAtClaim(claim.queue, 'failed', error.code);
  leases.remove(claim);
  const parent = started.record?.parent;
  if (parent) await workflows.advance(parent);
  await queues.of(claim.queue).fail(claim, `${error.code}: ${error.message}`);
}

/** The ends of claimed jobs that this worker does not run: they fail, or are set aside for a process that can read their record. */
import type { ErrorCode, JobState, Log, PlainError, WorkerId } from '@lehr/shared';
import type { Claim, GroupQueues, Leases, WorkflowRunner } from '@lehr/shared/queue';
import { isNewer, type RecordStore, toStoredError, type Unreadable } from '@lehr/shared/records';

interface GiveUpParts {
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

const DAMAGED: PlainError = {
  code: 'internal',
  message: 'The record of the job is damaged and cannot be read.',
};

/**
 * Fails a job whose record is damaged. A job of a newer version leaves the queue with its attempt uncounted: the janitor of a
 * process that can read it queues it again. Handed back, it would be claimed again at once.
 */
export async function setAside(parts: GiveUpParts, claim: Claim, unreadable: Unreadable): Promise<void> {
  if (!isNewer(unreadable)) return giveUp(parts, claim, DAMAGED);
  const { records, leases, queues, log } = parts;
  const { jobId: id, token: lease } = claim;
  log.warn({ job: id, ...unreadable }, 'set a job aside: a newer version of Lehr wrote it');
  await records.apply([{ move: 'requeue', id, lease, refund: true }]);
  leases.remove(claim);
  await queues.of(claim.queue).fail(claim, `set aside: version ${unreadable.version} wrote it`);
}

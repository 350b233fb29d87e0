/** Closes a claim whose record this worker cannot read. */
import type { PlainError } from '@lehr/shared';
import type { Claim } from '@lehr/shared/queue';
import { isNewer, type Unreadable } from '@lehr/shared/records';
import { type GiveUpParts, giveUp } from './give-up.ts';

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

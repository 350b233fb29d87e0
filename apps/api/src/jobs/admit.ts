/** May this job be made, and where does it stand in line? The one door for every way of asking. Knows no HTTP. */
import { type Clock, type JobId, LehrError, type PriorityClass } from '@lehr/shared';
import type { Admission, AdmissionDesk } from '@lehr/shared/queue';
import type { Caller } from '../auth/authenticator.ts';
import type { Ahead, Backlog } from '../fleet/backlog.ts';
import { type Quota, randomRetryAfterS } from '../limits/quota.ts';
import type { Quotas } from '../limits/quotas.ts';
import type { RequestIdentity } from './identity.ts';

export interface AdmitParts {
  readonly desk: AdmissionDesk;
  readonly quotas: Quotas;
  readonly backlog: Backlog;
  /** A job that would wait longer is refused. */
  readonly maxWaitMs: number;
  readonly clock: Clock;
}

export interface Asking {
  readonly id: JobId;
  readonly queue: string;
  /** `name@version`. */
  readonly model: string;
  readonly priority: PriorityClass;
  /** Estimated engine ms. */
  readonly cost: number;
  /** From now; past it the result is worth nothing to the caller. */
  readonly deadlineMs?: number | undefined;
  readonly identity?: RequestIdentity | undefined;
  /** Of a workflow: the queues its first nodes will wait in. The workflow itself waits in none. */
  readonly entries?: readonly { readonly queue: string; readonly model: string }[] | undefined;
}

export interface Admitted {
  /** To a place of its own, or the request has a job already. */
  readonly admission: Extract<Admission, { code: 'admitted' | 'replay' | 'adopted' }>;
  /** What the key may still spend, where it has a budget and spent of it. */
  readonly quota?: Quota | undefined;
}

/** A request with the same Idempotency-Key is just being stored. */
const PENDING_POLL_MS = 10;
/** A caller that is refused for the wait comes back within this share of it. */
const RETRY_AFTER_FRACTION = 0.5;

/** Throws `rate-limited`, `overloaded` and `idempotency-mismatch`; nothing is stored or spent then. */
export async function admitJob(parts: AdmitParts, caller: Caller, asking: Asking): Promise<Admitted> {
  const { quotas, backlog, maxWaitMs } = parts;
  const { id, queue, priority, cost, deadlineMs = Number.POSITIVE_INFINITY, identity } = asking;
  const { tenant, limits } = caller;
  const { workers, elsewhereMs } = await aheadOf(backlog, asking);
  const quota = await quotas.charge(caller, cost);
  const admission = await askUntilSettled(parts, {
    id,
    tenant,
    queue,
    priority,
    // Its nodes pay in their own lines.
    cost: asking.entries ? 0 : cost,
    maxJobs: limits.max_jobs,
    maxQueued: limits.max_queued,
    weight: limits.weight,
    // A job that cannot even start in time is better refused now than found expired later.
    maxWaitMs: Math.min(maxWaitMs, Math.max(0, deadlineMs - cost)),
    workers,
    elsewhereMs,
    idempotency: identity?.idempotency,
    twin: identity?.twin,
  });
  if (admission.code === 'admitted') return { admission, quota };
  await quotas.giveBack(caller, cost);
  switch (admission.code) {
    case 'replay':
    case 'adopted':
      return { admission };
    case 'too-many':
      throw quotas.tooMany(caller, admission.jobs, admission.of);
    case 'overloaded':
      throw overloaded(admission.waitMs);
    case 'mismatch':
      throw new LehrError(
        'idempotency-mismatch',
        'This Idempotency-Key was used for another request; take a new one for a new request.',
      );
  }
}

/** A workflow waits as long as the slowest of its first nodes. */
async function aheadOf(backlog: Backlog, { queue, model, priority, entries }: Asking): Promise<Ahead> {
  if (!entries) return backlog.ahead(queue, model, priority);
  const waits = await Promise.all(entries.map((entry) => backlog.waits(entry.queue, entry.model)));
  return { workers: 1, elsewhereMs: Math.max(...waits.map((wait) => wait[priority])) };
}

/** Ends: a job that is on its way is stored within a second, or its place is ours (queue/admit.lua). */
async function askUntilSettled(
  { desk, clock }: AdmitParts,
  applicant: Parameters<AdmissionDesk['ask']>[0],
): Promise<Exclude<Admission, { code: 'pending' }>> {
  for (;;) {
    const admission = await desk.ask(applicant);
    if (admission.code !== 'pending') return admission;
    await clock.sleep(PENDING_POLL_MS);
  }
}

function overloaded(waitMs: number): LehrError {
  const seconds = Math.ceil(waitMs / 1000);
  return new LehrError('overloaded', `This job would wait about ${seconds} s before it starts.`, {
    retryAfterS: randomRetryAfterS(seconds * RETRY_AFTER_FRACTION),
  });
}

/** Decides whether a job may be made, and its place in the queue; for every route that makes jobs. */
import { type Clock, type JobId, LehrError, type PriorityClass, type TenantId } from '@lehr/shared';
import type { Acceptance, Accepter, AdmissionRequest, Admitter, Draft } from '@lehr/shared/queue';
import type { Caller } from '../auth/authenticator.ts';
import type { Ahead, Backlog } from '../fleet/backlog.ts';
import type { ExpectedWorkers } from '../fleet/expected-workers.ts';
import type { ModelSharesView } from '../fleet/model-shares.ts';
import { type Quota, randomRetryAfterS } from '../limits/quota.ts';
import type { Quotas } from '../limits/quotas.ts';
import type { RecordRoom } from '../limits/record-room.ts';
import { type Growth, growthOf } from './growth.ts';
import type { RequestIdentity } from './identity.ts';
import { ownBacklogOf } from './own-backlog.ts';

export interface AdmitParts {
  readonly admitter: Admitter;
  readonly accepter: Accepter;
  readonly quotas: Quotas;
  readonly backlog: Backlog;
  readonly modelShares: ModelSharesView;
  readonly expected: ExpectedWorkers;
  /** A job that would wait longer is refused. */
  readonly maxWaitMs: number;
  readonly recordRoom: RecordRoom;
  /** Groups that a tenant may use within `groupIdleMs`, the time after which an idle group is retired. */
  readonly maxGroups: number;
  readonly groupIdleMs: number;
  readonly clock: Clock;
}

/** A job with its group and its price, not stored yet. */
export interface PricedJob {
  readonly id: JobId;
  readonly queue: string;
  /** The queue, or those of all nodes of a workflow. */
  readonly groups: readonly string[];
  /** `name@version`. */
  readonly model: string;
  readonly priority: PriorityClass;
  /** Estimated engine ms. */
  readonly cost: number;
  /** From now on; the caller has no use for a later result. */
  readonly deadlineMs?: number | undefined;
  /** Of a workflow: the groups of its first nodes. The workflow itself waits in no queue. */
  readonly entries?: readonly Entry[] | undefined;
}

export interface Entry {
  readonly queue: string;
  /** `name@version`. */
  readonly model: string;
  /** Estimated engine ms of the node. */
  readonly cost: number;
}

export interface Admitted {
  /** The job is new, or an earlier request has made it. */
  readonly admission: Extract<Acceptance, { code: 'admitted' | 'replay' | 'adopted' }>;
  /** What is left of the key's budget, if it has one and the job is new. */
  readonly quota?: Quota | undefined;
}

/** How often to try again while an earlier request with the same Idempotency-Key is being stored. */
const PENDING_POLL_MS = 10;
/** A job refused for its wait may be sent again after this share of the wait, at random. */
const RETRY_AFTER_FRACTION = 0.5;

/**
 * Stores the job too when its `draft` is given. Throws `rate-limited`, `overloaded` and `idempotency-mismatch`; then nothing is stored and
 * nothing charged.
 */
export async function admitJob(
  parts: AdmitParts,
  caller: Caller,
  job: PricedJob,
  identity?: RequestIdentity,
  draft?: Draft,
): Promise<Admitted> {
  const { quotas, maxWaitMs } = parts;
  const { id, queue, priority, cost, deadlineMs = Number.POSITIVE_INFINITY } = job;
  const { tenant, limits } = caller;
  await parts.recordRoom.check(tenant);
  const ahead = await aheadOf(parts, tenant, job);
  // A job that cannot start before its deadline is refused now instead of expiring later.
  const limitMs = Math.min(maxWaitMs, Math.max(0, deadlineMs - cost));
  const growth = job.entries
    ? undefined
    : growthOf(await parts.expected.of(job.model), ahead.workers, limitMs);
  const quota = await quotas.charge(caller, cost);
  const request: AdmissionRequest = {
    id,
    tenant,
    queue,
    priority,
    // The nodes of a workflow pay in their own queues.
    cost: job.entries ? 0 : cost,
    maxJobs: limits.max_jobs,
    maxQueued: limits.max_queued,
    weight: limits.weight,
    ownBacklog: await ownBacklogOf(parts, limits, job.entries?.map((each) => each.model) ?? [job.model]),
    groups: { names: job.groups, max: parts.maxGroups, withinMs: parts.groupIdleMs },
    maxWaitMs: limitMs - (growth?.startMs ?? 0),
    ...ahead,
    ...(growth && { workers: growth.workers }),
    ...identity,
  };
  const admission = await askUntilSettled(parts, request, draft);
  if (admission.code === 'admitted' || isOwn(admission, id)) return { admission, quota };
  await quotas.refund(caller, cost);
  switch (admission.code) {
    case 'replay':
    case 'adopted':
      return { admission };
    case 'too-many':
      throw admission.of === 'groups'
        ? quotas.tooManyGroups(parts.maxGroups, parts.groupIdleMs)
        : quotas.tooMany(caller, admission.count, admission.of);
    case 'own-backlog':
      throw quotas.ownBacklog(caller, admission.waitingMs);
    case 'overloaded':
      throw overloaded(admission.waitMs, job.model, ahead.workers, growth);
    case 'mismatch':
      throw new LehrError(
        'idempotency-mismatch',
        'This Idempotency-Key was used for another request. Use a new key for a new request.',
      );
  }
}

/** The job was stored by this request: the command was sent again, because its reply was lost. */
const isOwn = (admission: Acceptance, id: JobId): admission is Extract<Acceptance, { code: 'replay' }> =>
  admission.code === 'replay' && admission.id === id;

/** A workflow waits as long as the slowest of its first nodes, each by the place that its tenant has in that group. */
async function aheadOf({ backlog, admitter }: AdmitParts, tenant: TenantId, job: PricedJob): Promise<Ahead> {
  const { queue, model, priority, entries } = job;
  if (!entries) return backlog.ahead(queue, model, priority);
  const waits = await Promise.all(
    entries.map(async ({ cost, ...entry }) => {
      const ahead = await backlog.ahead(entry.queue, entry.model, priority);
      return admitter.estimateWaitMs({ tenant, queue: entry.queue, priority, cost, ...ahead });
    }),
  );
  return { workers: 1, elsewhereMs: Math.max(...waits), elsewhereGroups: Number.MAX_SAFE_INTEGER };
}

/** This wait ends: within a second the pending job is stored, or this request takes its place (admit.lua). */
async function askUntilSettled(
  { admitter, accepter, clock }: AdmitParts,
  request: AdmissionRequest,
  draft: Draft | undefined,
): Promise<Exclude<Acceptance, { code: 'pending' }>> {
  for (;;) {
    const admission: Acceptance = await (draft ? accepter.accept(request, draft) : admitter.admit(request));
    if (admission.code !== 'pending') return admission;
    await clock.sleep(PENDING_POLL_MS);
  }
}

function overloaded(waitMs: number, model: string, live: number, growth: Growth | undefined): LehrError {
  const startMs = growth?.startMs ?? 0;
  const seconds = Math.ceil((waitMs + startMs) / 1000);
  const starting =
    growth && live === 0
      ? ` No worker serves ${model} now; one starts and should serve in about ${Math.ceil(startMs / 1000)} s.`
      : '';
  return new LehrError('overloaded', `This job would wait about ${seconds} s before it starts.${starting}`, {
    retryAfterS: randomRetryAfterS(seconds * RETRY_AFTER_FRACTION),
  });
}

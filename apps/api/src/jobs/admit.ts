/** Decides whether a job may be made, and its place in the queue; for every route that makes jobs. */
import { type Clock, type KeyLimits, LehrError, type PriorityClass } from '@lehr/shared';
import {
  type Acceptance,
  Accepter,
  type AdmissionGroup,
  type AdmissionTerms,
  Admitter,
  type GroupQueues,
  type OwnBacklog,
  type PricedJob,
} from '@lehr/shared/queue';
import type { RecordStore, WorkflowState } from '@lehr/shared/records';
import type { Keys, Redis } from '@lehr/shared/redis';
import type { Caller } from '../access/auth/authenticator.ts';
import { type Quota, Quotas, randomRetryAfterS } from '../access/quotas.ts';
import { type Ahead, Backlog } from '../fleet/backlog.ts';
import type { Expected, ExpectedWorkers } from '../fleet/expected-workers.ts';
import { type FleetView, ModelSharesView } from '../fleet/fleet-view.ts';
import type { PauseStore } from '../fleet/pause-store.ts';
import type { RequestIdentity } from './identity.ts';
import { RecordSpace } from './space/record-space.ts';

/** How much is admitted, and by which workers it is judged. */
interface AdmitLimits {
  readonly expected: ExpectedWorkers;
  /** A job that would wait longer is refused. */
  readonly maxWaitMs: number;
  /** Groups that a tenant may use within `groupIdleMs`, the time after which an idle group is retired. */
  readonly maxGroups: number;
  readonly groupIdleMs: number;
  readonly clock: Clock;
}

export interface AdmitParts extends AdmitLimits {
  readonly admitter: Admitter;
  readonly accepter: Accepter;
  readonly quotas: Quotas;
  readonly backlog: Backlog;
  readonly modelShares: ModelSharesView;
  readonly recordSpace: RecordSpace;
}

interface AdmitOptions extends AdmitLimits {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly queues: GroupQueues;
  readonly records: RecordStore;
  readonly fleet: FleetView;
  readonly pauses: Pick<PauseStore, 'recent'>;
}

export function admitParts({
  redis,
  keys,
  queues,
  records,
  fleet,
  pauses,
  ...limits
}: AdmitOptions): AdmitParts {
  const { clock } = limits;
  return {
    ...limits,
    admitter: new Admitter(redis, keys),
    accepter: new Accepter(redis, keys, queues, records),
    quotas: new Quotas(redis, keys, clock),
    backlog: new Backlog(redis, keys, fleet, pauses, clock),
    modelShares: new ModelSharesView(fleet),
    recordSpace: new RecordSpace(redis, keys, clock),
  };
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
 * Stores the job too when it `isStorable`: it has no nodes, and nothing is to be stored before it. Throws `rate-limited`, `overloaded` and
 * `idempotency-mismatch`; then nothing is stored and nothing charged.
 */
export async function admitJob(
  parts: AdmitParts,
  caller: Caller,
  job: PricedJob,
  identity: RequestIdentity,
  isStorable: boolean,
): Promise<Admitted> {
  const { quotas } = parts;
  const { priority, cost, workflow, deadlineMs = Number.POSITIVE_INFINITY } = job;
  const { limits } = caller;
  // A job that cannot start before its deadline is refused now instead of expiring later.
  const limitMs = Math.min(parts.maxWaitMs, Math.max(0, deadlineMs - cost));
  const works = workflow?.nodes ?? [job];
  const groups: JudgedGroup[] = [];
  for (const group of groupsOf(works)) {
    // When a later job enters its queue, other jobs wait there.
    groups.push(job.later ? { ...group, ...NOT_JUDGED } : await judge(parts, group, priority, limitMs));
  }
  const slowest = groups.reduce((a, b) => (b.workers < a.workers ? b : a));
  const models = [...new Set(works.map(({ model }) => model))];
  const terms: AdmissionTerms = {
    groups,
    maxGroups: parts.maxGroups,
    groupsWithinMs: parts.groupIdleMs,
    maxJobs: limits.max_jobs,
    maxQueued: limits.max_queued,
    maxWaitMs: limitMs - Math.max(...groups.map(({ growth }) => growth?.startMs ?? 0)),
    betweenMs: workflow && betweenMs(workflow.nodes),
    ownBacklog: job.later ? undefined : await ownBacklogOf(parts, limits, models),
    ...identity,
  };
  const admission = await askUntilSettled(parts, job, terms, isStorable);
  switch (admission.code) {
    case 'admitted':
      return { admission, quota: quotas.left(caller, admission) };
    case 'replay':
    case 'adopted':
      return { admission };
    case 'spent':
      throw quotas.spent(caller, admission.forMs);
    case 'too-many':
      throw admission.of === 'groups'
        ? quotas.tooManyGroups(parts.maxGroups, parts.groupIdleMs)
        : quotas.tooMany(caller, admission.count, admission.of, works.length);
    case 'own-backlog':
      throw quotas.ownBacklog(caller, admission.waitingMs);
    case 'overloaded':
      throw overloaded(admission.waitMs, slowest, workflow ? 'A node of this workflow' : 'This job');
    case 'mismatch':
      throw new LehrError(
        'idempotency-mismatch',
        'This Idempotency-Key was used for another request. Use a new key for a new request.',
      );
  }
}

type Group = Pick<AdmissionGroup, 'queue' | 'cost'> & { readonly model: string };

function groupsOf(works: readonly Group[]): Group[] {
  const groups = new Map<string, Group>();
  for (const { queue, model, cost } of works) {
    groups.set(queue, { queue, model, cost: cost + (groups.get(queue)?.cost ?? 0) });
  }
  return [...groups.values()];
}

/** `workers`: those that there are, or with `growth` those that there will be. */
type JudgedGroup = Group & Ahead & { readonly live: number; readonly growth: Growth | undefined };

const NOT_JUDGED = { workers: 0, elsewhereMs: 0, elsewhereGroups: 0, live: 0, growth: undefined };

async function judge(
  { backlog, expected }: AdmitParts,
  { queue, model, cost }: Group,
  priority: PriorityClass,
  limitMs: number,
): Promise<JudgedGroup> {
  const { workers: live, elsewhereMs, elsewhereGroups } = await backlog.ahead(queue, model, priority);
  const growth = growthOf(await expected.of(model), live, limitMs);
  const workers = growth?.workers ?? live;
  return { queue, model, cost, workers, elsewhereMs, elsewhereGroups, live, growth };
}

/** How long nodes may wait for each other: for all but the longest chain of nodes, of which each starts when the one before it has ended. */
function betweenMs(nodes: WorkflowState['nodes']): number {
  const ends = new Map<string, number>();
  for (const { id, after, cost } of nodes) {
    ends.set(id, cost + Math.max(0, ...after.map((each) => ends.get(each) ?? 0)));
  }
  return nodes.reduce((sum, { cost }) => sum + cost, 0) - Math.max(...ends.values());
}

/** This wait ends: within a second the pending job is stored, or this request takes its place (admit.lua). */
async function askUntilSettled(
  { admitter, accepter, clock }: AdmitParts,
  job: PricedJob,
  terms: AdmissionTerms,
  isStorable: boolean,
): Promise<Exclude<Acceptance, { code: 'pending' }>> {
  for (;;) {
    const admission: Acceptance = await (isStorable
      ? accepter.accept(job, terms)
      : admitter.admit(job, terms));
    if (admission.code !== 'pending') return admission;
    await clock.sleep(PENDING_POLL_MS);
  }
}

function overloaded(waitMs: number, { model, live, growth }: JudgedGroup, what: string): LehrError {
  const startMs = growth?.startMs ?? 0;
  const seconds = Math.ceil((waitMs + startMs) / 1000);
  const starting =
    growth && live === 0
      ? ` No worker serves ${model} now; one starts and should serve in about ${Math.ceil(startMs / 1000)} s.`
      : '';
  return new LehrError('overloaded', `${what} would wait about ${seconds} s before it starts.${starting}`, {
    retryAfterS: randomRetryAfterS(seconds * RETRY_AFTER_FRACTION),
  });
}

interface Growth {
  readonly workers: number;
  /** Until they serve. */
  readonly startMs: number;
}

/**
 * Undefined: by those that there are. They can begin `live` times `limitMs` of engine time within the limit, and the workers of a grown
 * fleet theirs after a start. Without a live worker only the grown fleet counts.
 */
export function growthOf(expected: Expected | undefined, live: number, limitMs: number): Growth | undefined {
  if (!expected) return undefined;
  if (live === 0) return { workers: expected.workers, startMs: expected.readyInMs };
  const { workers, startMs } = expected;
  return workers * (limitMs - startMs) > live * limitMs ? { workers, startMs } : undefined;
}

/**
 * How much work of its tenant may wait for the workers of a job, by the limit of the key.
 * `models` are those of the job, or of the nodes of a workflow.
 */
async function ownBacklogOf(
  { modelShares, maxWaitMs }: { readonly modelShares: ModelSharesView; readonly maxWaitMs: number },
  { max_backlog_share: limit }: KeyLimits,
  models: readonly string[],
): Promise<OwnBacklog> {
  let fewest = Number.POSITIVE_INFINITY;
  let most: ReadonlyMap<string, number> | undefined;
  for (const each of models) {
    const { workers, shares } = await modelShares.of(each);
    fewest = Math.min(fewest, workers);
    most = most ? mostOf(most, shares) : shares;
  }
  return {
    maxMs: limit === null ? undefined : limit * maxWaitMs * Math.max(1, fewest),
    shares: most ?? new Map(),
  };
}

function mostOf(a: ReadonlyMap<string, number>, b: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  return new Map([
    ...a,
    ...[...b].map(([model, share]) => [model, Math.max(share, a.get(model) ?? 0)] as const),
  ]);
}

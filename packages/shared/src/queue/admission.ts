/** Admission: decides whether a job may be stored and where in line, before anything is stored (admit.lua). */
import { readFileSync } from 'node:fs';
import type { JobId } from '../base/ids.ts';
import { PRIORITY_CLASSES, type PriorityClass } from '../contracts/job.ts';
import { type NewJob, PLANNED_LUA } from '../records/index.ts';
import { defineScript, type Keys, type Redis, redisNow, type Script } from '../redis/index.ts';
import { BUDGET_LUA } from './reprice.ts';
import { firstScore } from './score.ts';

/** The function `admit`; it needs those of PLANNED_LUA. */
export const ADMIT_LUA = [
  readFileSync(new URL('./fair-wait.lua', import.meta.url), 'utf8'),
  BUDGET_LUA,
  readFileSync(new URL('./admit.lua', import.meta.url), 'utf8'),
].join('\n');
const SCRIPT = `${PLANNED_LUA}
${ADMIT_LUA}
local time = redis.call('TIME')
return admit(ARGV[1], cjson.decode(ARGV[2]), time[1] * 1000 + math.floor(time[2] / 1000), false)`;
/** How long an idempotency key is remembered. */
const IDEMPOTENCY_MS = 24 * 3_600_000;

/** A request after it is resolved: a job with its queue, its cost and its input, but without what its admission decides. */
export type PricedJob = Omit<NewJob, 'deadline_at' | 'run_at' | 'score' | 'fair_tag' | 'admitted_at'> & {
  /** Estimated engine ms; of a workflow, of all its nodes. */
  readonly cost: number;
  /** After the admission or the time of a later job, ms. */
  readonly deadlineMs?: number | undefined;
  /** When it enters its queue; absent: at once. */
  readonly later?: { readonly at: number } | { readonly inMs: number } | undefined;
};

/** What admission reads of a job. Its payer is charged. */
export type AdmittedJob = Pick<
  PricedJob,
  'id' | 'tenant' | 'queue' | 'priority' | 'cost' | 'payer' | 'workflow' | 'later'
>;

/** What a job is held against. What is absent or null is not limited. */
export interface AdmissionTerms {
  /** The group queue of the job; of a workflow, those of its nodes. Absent: the job is admitted whatever its wait. */
  readonly groups?: readonly AdmissionGroup[];
  /** How many different group queues the tenant may use within `groupsWithinMs`: each one has its own keys until it is retired. */
  readonly maxGroups?: number;
  readonly groupsWithinMs?: number;
  /** How many unfinished jobs the tenant may have, and how many of them may wait. */
  readonly maxJobs?: number | null;
  readonly maxQueued?: number | null;
  /** A job that would wait longer is refused. */
  readonly maxWaitMs?: number;
  /** Engine ms that the nodes of a workflow may wait for each other. */
  readonly betweenMs?: number | undefined;
  readonly ownBacklog?: OwnBacklog;
  readonly idempotency?: Idempotency | undefined;
  /** The request takes over the job of an equal request that got no answer; not together with `idempotency`. */
  readonly duplicate?: DuplicateRequest | undefined;
}

export interface AdmissionGroup {
  readonly queue: string;
  /** Of the job, or of all nodes in this group. */
  readonly cost: number;
  /** Those that serve the group. */
  readonly workers: number;
  /** Estimated engine ms that wait in other groups of these workers, and how many groups these are. */
  readonly elsewhereMs: number;
  readonly elsewhereGroups: number;
}

/** How much work of its tenant may wait for the workers of the groups. */
export interface OwnBacklog {
  /** Engine ms, of these workers together; absent: any number. */
  readonly maxMs?: number | undefined;
  /** The models that these workers serve, and the share of the model's waiting jobs that they will run. */
  readonly shares: ReadonlyMap<string, number>;
}

export interface Idempotency {
  /** Hash of the tenant and its idempotency key; the key itself is not stored. */
  readonly hash: string;
  /** Hash of route and body, without spaces: the same key with another fingerprint is refused. */
  readonly fingerprint: string;
}

/** Recognises equal requests without an idempotency key. */
export interface DuplicateRequest {
  /** Hash of caller, route and body. */
  readonly hash: string;
  /** The request says that it is a retry: it may also adopt the job of an equal request that still counts as held. */
  readonly isRetry?: boolean;
  /** How many equal requests may be held at once; the next one adopts the job of the oldest. Absent: any number. */
  readonly maxHeld?: number;
}

export type Admission =
  /**
   * `score` is the job's place in its queue (score.ts). `startTag` goes into the record, so that the job's start advances the
   * virtual time of its class. `id` is the request's, or that of an earlier request with the same idempotency key that never
   * became a job. `now` is Redis's clock, ms.
   */
  | {
      readonly code: 'admitted';
      readonly id: JobId;
      readonly score: number;
      readonly startTag: number;
      readonly now: number;
      /** Engine ms of the key's budget in use, and the time until it is full again; 0 for a key without one. */
      readonly usedMs: number;
      readonly fullInMs: number;
    }
  /** The job of this idempotency key is about to be stored: try again soon. */
  | { readonly code: 'pending'; readonly id: JobId }
  /** An earlier request made the job: `replay` by its idempotency key, `adopted` because that request got no answer. */
  | { readonly code: 'replay' | 'adopted'; readonly id: JobId }
  | { readonly code: 'mismatch' }
  /** The budget of the key is used up; some of it is there after this time. */
  | { readonly code: 'spent'; readonly forMs: number }
  | { readonly code: 'too-many'; readonly count: number; readonly of: TenantLimit }
  /** Engine ms of the tenant that wait for the workers of the group; with this job they would be above `ownBacklog.maxMs`. */
  | { readonly code: 'own-backlog'; readonly waitingMs: number }
  | { readonly code: 'overloaded'; readonly waitMs: number };

/** What a tenant may have too many of: unfinished jobs, waiting jobs, group queues. */
export type TenantLimit = 'live' | 'queued' | 'groups';

export class Admitter {
  readonly #redis: Redis;
  readonly #keys: Keys;
  readonly #script: Script;

  constructor(redis: Redis, keys: Keys) {
    this.#redis = redis;
    this.#keys = keys;
    this.#script = defineScript(redis, 'lehrAdmit', SCRIPT);
  }

  /** One round trip. An admitted job counts among its tenant's jobs; the janitor frees the place if no record follows. */
  async admit(job: AdmittedJob, terms: AdmissionTerms = {}): Promise<Admission> {
    const text = JSON.stringify(toAdmit(job, terms));
    return readAdmission((await this.#script.run([this.#keys.live], [this.#keys.prefix, text])) as Reply);
  }

  /** Lets a reservation count as made now. */
  async renew(id: JobId): Promise<void> {
    await this.#redis.zadd(this.#keys.live, 'XX', await redisNow(this.#redis), id);
  }

  /** The job that an earlier request with this key has made; undefined when there is none, or it is not stored yet. */
  async replay({ hash, fingerprint }: Idempotency): Promise<JobId | undefined> {
    const [id, known] = (await this.#redis.get(this.#keys.idempotency(hash)))?.split(' ') ?? [];
    if (id === undefined || known !== fingerprint) return undefined;
    return (await this.#redis.hexists(this.#keys.reserved, id)) === 1 ? undefined : (id as JobId);
  }

  /** Whether an earlier request, equal or with the same idempotency key, may have made the job already. */
  async isRepeat({
    idempotency,
    duplicate,
  }: Pick<AdmissionTerms, 'idempotency' | 'duplicate'>): Promise<boolean> {
    if (idempotency) return (await this.#redis.exists(this.#keys.idempotency(idempotency.hash))) === 1;
    return duplicate !== undefined && (await this.#redis.exists(this.#keys.unanswered(duplicate.hash))) === 1;
  }
}

/** The job as admit.lua takes it. */
export const toAdmit = (job: AdmittedJob, terms: AdmissionTerms) => ({
  id: job.id,
  ...toAdmitAlike(job, terms),
});

/** The same without the id: what many jobs may have in common. JSON leaves out what is undefined. */
export function toAdmitAlike(job: Omit<AdmittedJob, 'id'>, terms: AdmissionTerms) {
  const { tenant, queue, priority, cost, payer, workflow, later } = job;
  const { idempotency, duplicate, ownBacklog } = terms;
  return {
    tenant,
    queue,
    classes: CLASSES_AHEAD[priority],
    first_score: firstScore(priority),
    cost,
    weight: payer?.weight ?? 1,
    budget: payer?.budget_ms == null ? undefined : { key: payer.key, full_ms: payer.budget_ms },
    nodes: workflow?.nodes.map((node) => ({ job: node.job, model: node.model, cost: node.cost })),
    between_ms: terms.betweenMs,
    groups: (terms.groups ?? []).map((group) => ({
      queue: group.queue,
      cost: group.cost,
      workers: group.workers,
      elsewhere_ms: group.elsewhereMs,
      elsewhere_groups: group.elsewhereGroups,
    })),
    max_groups: terms.maxGroups,
    groups_within_ms: terms.groupsWithinMs,
    max_jobs: terms.maxJobs ?? undefined,
    max_queued: terms.maxQueued ?? undefined,
    max_wait_ms: terms.maxWaitMs,
    shares: [...(ownBacklog?.shares ?? [])],
    max_own_ms: ownBacklog?.maxMs,
    is_later: later && true,
    idempotency: idempotency && { ...idempotency, kept_ms: IDEMPOTENCY_MS },
    duplicate: duplicate && {
      hash: duplicate.hash,
      is_retry: duplicate.isRetry,
      max_held: duplicate.maxHeld,
    },
  };
}

/** Each class, followed by the more urgent ones. */
const CLASSES_AHEAD = Object.fromEntries(
  PRIORITY_CLASSES.map((priority, i) => [priority, [priority, ...PRIORITY_CLASSES.slice(0, i)].join(' ')]),
) as Record<PriorityClass, string>;

/** Of admit.lua. */
export type Reply = [Admission['code'], ...(string | number)[]];

export function readAdmission([code, first, second, id, now, usedMs, fullInMs]: Reply): Admission {
  switch (code) {
    case 'admitted':
      return {
        code,
        id: id as JobId,
        score: Number(first),
        startTag: Number(second),
        now: Number(now),
        usedMs: Number(usedMs),
        fullInMs: Number(fullInMs),
      };
    case 'pending':
      return { code, id: first as JobId };
    case 'replay':
    case 'adopted':
      return { code, id: first as JobId };
    case 'mismatch':
      return { code };
    case 'spent':
      return { code, forMs: Number(first) };
    case 'too-many':
      return { code, count: Number(first), of: second as TenantLimit };
    case 'own-backlog':
      return { code, waitingMs: Number(first) };
    case 'overloaded':
      return { code, waitMs: Number(first) };
  }
}

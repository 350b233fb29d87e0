/** Admission: decides whether a job may be stored and where in line, before anything is stored (admit.lua). */
import { readFileSync } from 'node:fs';
import type { JobId, TenantId } from '../base/ids.ts';
import { PRIORITY_CLASSES, type PriorityClass } from '../contracts/job.ts';
import { PLANNED_LUA } from '../records/index.ts';
import { defineScript, type Keys, type Redis, redisNow, type Script } from '../redis/index.ts';
import type { GroupQueues } from './group-queues.ts';
import { BUDGET_LUA } from './reprice.ts';
import { firstScore } from './score.ts';

export const ADMIT_LUA = [
  readFileSync(new URL('./fair-wait.lua', import.meta.url), 'utf8'),
  BUDGET_LUA,
  PLANNED_LUA,
  readFileSync(new URL('./admit.lua', import.meta.url), 'utf8'),
].join('\n');
/** How long an idempotency key is remembered. */
const IDEMPOTENCY_MS = 24 * 3_600_000;
/** Stands for no limit; Lua's numbers hold it exactly. */
const UNLIMITED = Number.MAX_SAFE_INTEGER;

export interface AdmissionRequest {
  readonly id: JobId;
  readonly tenant: TenantId;
  readonly queue: string;
  readonly priority: PriorityClass;
  /** Estimated engine ms; of a workflow, of all its nodes. */
  readonly cost: number;
  /** How many unfinished jobs the tenant may have, and how many of them may wait; absent or null: any number. */
  readonly maxJobs?: number | null;
  readonly maxQueued?: number | null;
  /** The tenant's share against other tenants in the same class; 1 by default. */
  readonly weight: number;
  /** Absent: any number. */
  readonly ownBacklog?: OwnBacklog | undefined;
  /** Absent: the tenant may use any number of group queues. */
  readonly groups?: GroupLimit | undefined;
  /** Refuse when the job would wait longer than this. */
  readonly maxWaitMs: number;
  /** Workers that serve the group now; of a workflow, that of its groups with the fewest. */
  readonly workers: number;
  /** Its nodes count against the limits of the tenant from now on. */
  readonly workflow?: PlannedWorkflow | undefined;
  /** Of the key that pays; absent: it has none. */
  readonly budget?: { readonly key: string; readonly fullMs: number } | undefined;
  /** Estimated engine ms that wait in other groups of these workers, and how many groups these are. */
  readonly elsewhereMs?: number;
  readonly elsewhereGroups?: number;
  readonly idempotency?: Idempotency | undefined;
  /** The request takes over the job of an equal request that got no answer; not together with `idempotency`. */
  readonly duplicate?: DuplicateRequest | undefined;
}

/** How much work of its tenant may wait for the workers of the group. */
export interface OwnBacklog {
  /** Engine ms, of these workers together. */
  readonly maxMs: number;
  /** The models that these workers serve, and the share of the model's waiting jobs that they will run. */
  readonly shares: ReadonlyMap<string, number>;
}

/** In the names that admit.lua reads. */
export interface PlannedWorkflow {
  readonly nodes: readonly { readonly job: JobId; readonly model: string; readonly cost: number }[];
  readonly groups: readonly {
    readonly queue: string;
    /** Of all nodes in this group. */
    readonly cost: number;
    readonly workers: number;
    readonly elsewhere_ms: number;
    readonly elsewhere_groups: number;
  }[];
  /** Engine ms that the nodes may wait for each other. */
  readonly between_ms: number;
}

/** How many group queues a tenant may use: each one has its own keys until it is retired. */
export interface GroupLimit {
  /** The group queue of the job; of a workflow, those of all its nodes. */
  readonly names: readonly string[];
  /** How many different ones the tenant may use within `withinMs`. */
  readonly max: number;
  readonly withinMs: number;
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
  readonly #queues: GroupQueues;
  readonly #script: Script;

  constructor(redis: Redis, keys: Keys, queues: GroupQueues) {
    this.#redis = redis;
    this.#keys = keys;
    this.#queues = queues;
    this.#script = defineScript(redis, 'lehrAdmit', ADMIT_LUA);
  }

  /** One round trip. An admitted job counts among its tenant's jobs; the janitor frees the place if no record follows. */
  async admit(job: AdmissionRequest): Promise<Admission> {
    const { keys, args } = admissionCall(this.#keys, this.#queues, job);
    return readAdmission((await this.#script.run(keys, args)) as Reply);
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
  }: Pick<AdmissionRequest, 'idempotency' | 'duplicate'>): Promise<boolean> {
    if (idempotency) return (await this.#redis.exists(this.#keys.idempotency(idempotency.hash))) === 1;
    return duplicate !== undefined && (await this.#redis.exists(this.#keys.unanswered(duplicate.hash))) === 1;
  }
}

/** KEYS and ARGV of admit.lua. */
export function admissionCall(
  keys: Keys,
  queues: GroupQueues,
  job: AdmissionRequest,
): { readonly keys: readonly string[]; readonly args: readonly (string | number)[] } {
  const { tenant, queue, priority, idempotency, duplicate, workflow, budget } = job;
  return {
    keys: [
      keys.liveOf(tenant),
      keys.load(queue),
      keys.fair(queue),
      queues.of(queue).prioritizedKey,
      keys.idempotency(idempotency?.hash ?? 'none'),
      keys.live,
      keys.reserved,
      keys.runningOf(tenant),
      keys.unanswered(duplicate?.hash ?? 'none'),
      keys.fairTags(queue, priority),
      keys.record(job.id),
      keys.loadOf(tenant),
      keys.groupsOf(tenant),
      keys.budget(budget?.key ?? 'none'),
    ],
    args: [
      job.id,
      tenant,
      CLASSES_AHEAD[priority],
      job.cost,
      job.maxJobs ?? UNLIMITED,
      job.maxWaitMs,
      job.workers,
      idempotency?.fingerprint ?? '',
      IDEMPOTENCY_MS,
      firstScore(priority),
      job.elsewhereGroups ?? 0,
      job.weight,
      job.maxQueued ?? UNLIMITED,
      job.elsewhereMs ?? 0,
      duplicate ? (duplicate.isRetry ? 'held' : 'unanswered') : '',
      duplicate?.maxHeld ?? UNLIMITED,
      job.ownBacklog?.maxMs ?? UNLIMITED,
      job.groups?.max ?? UNLIMITED,
      job.groups?.withinMs ?? 0,
      [...new Set(job.groups?.names)].join(' '),
      budget?.fullMs ?? '',
      workflow ? JSON.stringify(workflow) : '',
      keys.prefix,
      ...[...(job.ownBacklog?.shares ?? [])].flat(),
    ],
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

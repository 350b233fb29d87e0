/** The door of the queue: may this job be stored, and where in line? Asked before anything is stored. */
import { readFileSync } from 'node:fs';
import { PRIORITY_CLASSES, type PriorityClass } from '../contracts/job.ts';
import type { JobId, TenantId } from '../ids.ts';
import { defineScript, type Keys, type Redis, type Script } from '../redis/index.ts';
import type { GroupQueues } from './group-queue.ts';
import { CLASS_WIDTH, firstRank } from './rank.ts';

const ADMIT_LUA = readFileSync(new URL('./admit.lua', import.meta.url), 'utf8');
/** How long an idempotency key is remembered. */
const IDEMPOTENCY_MS = 24 * 3_600_000;

export interface Applicant {
  readonly id: JobId;
  readonly tenant: TenantId;
  readonly queue: string;
  readonly priority: PriorityClass;
  /** Estimated engine ms. */
  readonly cost: number;
  /** Jobs the tenant may have without an end. */
  readonly maxJobs: number;
  /** The tenant's share against others of its class; 1 is usual. */
  readonly weight: number;
  /** Refuse when the job would wait longer than this. */
  readonly maxWaitMs: number;
  /** Workers that serve the group now. */
  readonly workers: number;
  readonly idempotency?: {
    /** Of the caller and its key; never the key itself. */
    readonly hash: string;
    /** Of route and body: the same key with another one is refused. No spaces. */
    readonly fingerprint: string;
  };
}

export type Admission =
  /** `rank` is the job's place in its queue; `startTag` goes into its record, so that its start moves the line on. */
  | { readonly code: 'admitted'; readonly rank: number; readonly startTag: number }
  | { readonly code: 'replay'; readonly jobId: JobId }
  | { readonly code: 'mismatch' }
  | { readonly code: 'too-many'; readonly jobs: number }
  | { readonly code: 'overloaded'; readonly waitMs: number };

export class AdmissionDesk {
  readonly #keys: Keys;
  readonly #queues: GroupQueues;
  readonly #script: Script;

  constructor(redis: Redis, keys: Keys, queues: GroupQueues) {
    this.#keys = keys;
    this.#queues = queues;
    this.#script = defineScript(redis, 'lehrAdmit', ADMIT_LUA);
  }

  /** One round trip. An admitted job holds a place among its tenant's jobs until its record is written or the janitor looks. */
  async ask(job: Applicant): Promise<Admission> {
    const { tenant, queue, priority, idempotency } = job;
    const before = PRIORITY_CLASSES.slice(0, PRIORITY_CLASSES.indexOf(priority));
    const reply = await this.#script.run(
      [
        this.#keys.liveOf(tenant),
        this.#keys.load(queue),
        this.#keys.fair(queue),
        this.#queues.of(queue).prioritizedKey,
        this.#keys.idempotency(idempotency?.hash ?? 'none'),
        this.#keys.live,
        this.#keys.reserved,
      ],
      [
        job.id,
        tenant,
        [priority, ...before].join(' '),
        job.cost,
        job.maxJobs,
        job.maxWaitMs,
        job.workers,
        idempotency?.fingerprint ?? '',
        IDEMPOTENCY_MS,
        firstRank(priority),
        CLASS_WIDTH,
        job.weight,
      ],
    );
    return parseReply(reply as [Admission['code'], ...(string | number)[]]);
  }
}

function parseReply([code, first, second]: [Admission['code'], ...(string | number)[]]): Admission {
  switch (code) {
    case 'admitted':
      return { code, rank: Number(first), startTag: Number(second) };
    case 'replay':
      return { code, jobId: first as JobId };
    case 'mismatch':
      return { code };
    case 'too-many':
      return { code, jobs: Number(first) };
    case 'overloaded':
      return { code, waitMs: Number(first) };
  }
}

/** Acceptance: admits jobs, stores them and puts them into their queues in one round trip (accept.lua). */
import { readFileSync } from 'node:fs';
import {
  CREATE_LUA,
  type JobRecord,
  type NewJob,
  newRecord,
  type RecordStore,
  storedFields,
} from '../records/index.ts';
import { defineScript, type Keys, type Redis, type Script } from '../redis/index.ts';
import {
  ADMIT_LUA,
  type Admission,
  type AdmissionTerms,
  type PricedJob,
  type Reply,
  readAdmission,
  toAdmitAlike,
} from './admission.ts';
import { asFunction, BULL_ADD_LUA, KEPT_LUA } from './bull-scripts.ts';
import { dataAfterId, PLACE_LUA } from './group-queue.ts';
import type { GroupQueues } from './group-queues.ts';
import { bullPriority, firstScore } from './score.ts';

/** Of one command, so that it keeps Redis from other callers for a few ms at most. */
const MAX_JOBS = 25;
const MAX_CHARS = 200_000;
/** Of the reply of admit.lua; what accept.lua adds comes after it. */
const ADMITTED_LENGTH = 7;

const ACCEPT_LUA = [
  KEPT_LUA,
  CREATE_LUA,
  ADMIT_LUA,
  BULL_ADD_LUA,
  asFunction('place', PLACE_LUA),
  readFileSync(new URL('./accept.lua', import.meta.url), 'utf8'),
].join('\n');

/**
 * A job that is admitted, as it is stored. What is added comes before the copied fields: after them, V8 makes a hidden class for each new
 * object (24 us and 600 bytes that stay until the next full garbage collection, Node 20).
 */
export function admittedJob(
  { deadlineMs, later, ...job }: PricedJob,
  { id, score, startTag, now }: Extract<Admission, { code: 'admitted' }>,
): NewJob {
  const runAt = later && Math.max(now, 'at' in later ? later.at : Math.round(now + later.inMs));
  return {
    // Every process measures deadlines, and the times of later jobs, by Redis's clock.
    deadline_at: deadlineMs === undefined ? undefined : Math.round((runAt ?? now) + deadlineMs),
    run_at: runAt,
    // A later job gets its place when it enters its queue.
    score: later ? undefined : score,
    fair_tag: later ? undefined : startTag,
    admitted_at: now,
    ...job,
    id,
    // The nodes of a workflow have their own costs.
    cost: job.workflow ? 0 : job.cost,
  };
}

/** `stored`: absent for a job that is admitted under the id of an earlier request (Admission), and must be stored by the caller. */
export type Acceptance = Admission & {
  readonly stored?: { readonly record: JobRecord; readonly position: number | undefined };
};

/** What the lines of a batch have in common. */
type Alike = Omit<PricedJob, 'id' | 'input'>;

interface Waiting {
  readonly alike: Alike;
  readonly terms: AdmissionTerms;
  /** For accept.lua, as JSON: these two, and the rest. */
  readonly shared: string;
  readonly own: string;
  resolve(reply: Reply): void;
  reject(error: unknown): void;
}

export class Accepter {
  readonly #keys: Keys;
  readonly #queues: GroupQueues;
  readonly #retentionMs: number;
  readonly #script: Script;
  #waiting: Waiting[] = [];
  #chars = 0;

  constructor(
    redis: Redis,
    keys: Keys,
    queues: GroupQueues,
    { retentionMs }: Pick<RecordStore, 'retentionMs'>,
  ) {
    this.#keys = keys;
    this.#queues = queues;
    this.#retentionMs = retentionMs;
    this.#script = defineScript(redis, 'lehrAccept', ACCEPT_LUA);
  }

  /**
   * As Admitter.admit, for a job that is no workflow. A command that is sent again because its reply was lost answers `replay` with the
   * id of the job.
   */
  async accept(job: PricedJob, terms: AdmissionTerms): Promise<Acceptance> {
    const { id, input, ...alike } = job;
    const last = this.#waiting.at(-1);
    const isAlike = last && isSame(alike, last.alike) && isSame(terms, last.terms);
    const shared = isAlike ? last.shared : this.#sharedOf(alike, terms);
    const own = `"${id}",${JSON.stringify(JSON.stringify(input))}`;
    const reply = await new Promise<Reply>((resolve, reject) =>
      this.#enqueue({ alike, terms, shared, own, resolve, reject }),
    );
    const answer = readAdmission(reply);
    if (answer.code !== 'admitted' || reply.length === ADMITTED_LENGTH) return answer;
    const [created_at, position] = reply.slice(ADMITTED_LENGTH) as [number, number | undefined];
    return { stored: { record: newRecord(admittedJob(job, answer), created_at), position }, ...answer };
  }

  #sharedOf(alike: Alike, terms: AdmissionTerms): string {
    const { deadlineMs, later, ...stored } = alike;
    return JSON.stringify({
      job: toAdmitAlike(alike, terms),
      priority: bullPriority(firstScore(alike.priority)),
      data: dataAfterId(alike),
      waiting: this.#queues.of(alike.queue).waitingKey,
      deadline_ms: deadlineMs,
      fields: storedFields(stored),
      ...laterFields(later),
    });
  }

  /** The jobs that are ready in the same moment, as the lines of a batch are, share a command: most of what a job costs is its command. */
  #enqueue(item: Waiting): void {
    const chars = item.own.length + item.shared.length;
    if (this.#waiting.length === MAX_JOBS || this.#chars + chars > MAX_CHARS) this.#send();
    this.#chars += chars;
    // After all that can go on without waiting has done so.
    if (this.#waiting.push(item) === 1) process.nextTick(() => this.#send());
  }

  #send(): void {
    const sent = this.#waiting;
    if (sent.length === 0) return;
    this.#waiting = [];
    this.#chars = 0;
    // Redis reads once what they share.
    const text = `[${sent.map(({ shared, own }, i) => `[${own}${shared === sent[i - 1]?.shared ? '' : `,${shared}`}]`).join(',')}]`;
    this.#script.run([this.#keys.live], [this.#keys.prefix, text, this.#retentionMs]).then(
      (replies) => {
        for (const [i, reply] of (replies as (Reply | Error)[]).entries())
          if (reply instanceof Error) sent[i].reject(reply);
          else sent[i].resolve(reply);
      },
      (error) => {
        for (const { reject } of sent) reject(error);
      },
    );
  }
}

const laterFields = (later: PricedJob['later']): object | undefined =>
  later && ('at' in later ? { run_at: later.at } : { delay_ms: later.inMs });

/** Whether two values have the same JSON, which writing it would take twice as long to tell. Maps are the same only as the same object. */
function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null || a instanceof Map)
    return false;
  const [fields, others] = [a, b] as Readonly<Record<string, unknown>>[];
  for (const name in fields) if (!isSame(fields[name], others[name])) return false;
  for (const name in others) if (!(name in fields)) return false;
  return true;
}

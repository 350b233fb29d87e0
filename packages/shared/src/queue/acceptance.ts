/** Acceptance: admits a job, stores it and puts it into its queue in one round trip (accept.lua). */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { CREATE_LUA, type JobRecord, type NewJob, type RecordStore, storedFields } from '../records/index.ts';
import { defineScript, type Keys, type Redis, type Script } from '../redis/index.ts';
import {
  ADMIT_LUA,
  type Admission,
  type AdmissionRequest,
  admissionCall,
  type Reply,
  readAdmission,
} from './admission.ts';
import { KEEP_FINISHED, PLACE_LUA, queuedData } from './group-queue.ts';
import type { GroupQueues } from './group-queues.ts';
import { bullPriority, firstScore } from './score.ts';

/** The script by which BullMQ adds a job with a priority. The package has no types for this file, and shows its scripts nowhere else. */
const BULL_ADD = createRequire(import.meta.url)('bullmq/dist/cjs/scripts/addPrioritizedJob-9.js') as {
  readonly addPrioritizedJob: { readonly content: string };
};

/** Of the reply of admit.lua; what accept.lua adds comes after it. */
const ADMITTED_LENGTH = 7;

const asFunction = (name: string, lua: string): string => `local function ${name}(KEYS, ARGV)\n${lua}\nend`;

const ACCEPT_LUA = [
  `local KEPT = { age = ${KEEP_FINISHED.age}, count = ${KEEP_FINISHED.count} }`,
  CREATE_LUA,
  asFunction('admit', ADMIT_LUA),
  asFunction('add', BULL_ADD.addPrioritizedJob.content),
  asFunction('place', PLACE_LUA),
  readFileSync(new URL('./accept.lua', import.meta.url), 'utf8'),
].join('\n');

/** A job without what its admission decides. */
export type Draft = Omit<NewJob, 'deadline_at' | 'score' | 'fair_tag' | 'admitted_at'> & {
  /** After the admission, ms. */
  readonly deadlineMs?: number | undefined;
};

/** The record of a draft that is admitted. */
export function admittedJob(
  { deadlineMs, ...draft }: Draft,
  { id, score, startTag, now }: Extract<Admission, { code: 'admitted' }>,
): NewJob {
  return {
    ...draft,
    id,
    // Every process measures deadlines by Redis's clock.
    deadline_at: deadlineMs === undefined ? undefined : Math.round(now + deadlineMs),
    score,
    fair_tag: startTag,
    admitted_at: now,
  };
}

/** `stored`: absent for a job that is admitted under the id of an earlier request (Admission), and must be stored by the caller. */
export type Acceptance = Admission & {
  readonly stored?: { readonly record: JobRecord; readonly position: number };
};

export class Accepter {
  readonly #keys: Keys;
  readonly #queues: GroupQueues;
  readonly #retentionMs: number;
  readonly #script: Script;

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
   * As Admitter.admit, for the job that `draft` describes. A command that is sent again because its reply was lost answers `replay`
   * with the id of the draft.
   */
  async accept(request: AdmissionRequest, draft: Draft): Promise<Acceptance> {
    const { deadlineMs, ...known } = draft;
    const { keys, args } = admissionCall(this.#keys, this.#queues, request);
    const { waitingKey } = this.#queues.of(draft.queue);
    const job = {
      admit: args,
      queue: draft.queue,
      priority: bullPriority(firstScore(draft.priority)),
      data: queuedData(draft),
      deadline_ms: deadlineMs,
      fields: storedFields(known),
    };
    const reply = (await this.#script.run(
      [this.#keys.live, ...keys, ...(waitingKey === undefined ? [] : [waitingKey])],
      [this.#keys.prefix, JSON.stringify(job), this.#retentionMs],
    )) as Reply;
    const answer = readAdmission(reply);
    if (answer.code !== 'admitted' || reply.length === ADMITTED_LENGTH) return answer;
    const [created_at, position] = reply.slice(ADMITTED_LENGTH) as [number, number];
    const record = {
      ...admittedJob(draft, answer),
      state: 'queued' as const,
      rev: 1,
      attempt: 0,
      created_at,
    };
    return { ...answer, stored: { record, position } };
  }
}

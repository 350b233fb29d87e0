/** Records in Redis: written by transition.lua (and their cost by queue/reprice.lua), parsed with their schema on the way out. */
import { readFileSync } from 'node:fs';
import type { JobState } from '../contracts/job.ts';
import { LehrError } from '../errors.ts';
import type { JobId, LeaseToken } from '../ids.ts';
import { defineScript, type Keys, type Redis, type Script } from '../redis/index.ts';
import { type JobRecord, JobRecordSchema, MOVES, type MoveName, type NewJob } from './record.ts';
import { fromStoredNames, toStoredNames } from './stored-names.ts';

const TRANSITION_LUA = [
  `local MOVES = cjson.decode([[${JSON.stringify(MOVES)}]])`,
  readFileSync(new URL('./transition.lua', import.meta.url), 'utf8'),
].join('\n');

export interface Move {
  readonly move: MoveName;
  readonly id: JobId;
  /** The lease of the attempt that makes this move; see transition.lua for moves without one. */
  readonly lease?: LeaseToken;
  /** Written with the move. Objects are stored as JSON. */
  readonly fields?: Readonly<Record<string, string | number | object>>;
  /** What the event of this move carries. */
  readonly data?: object;
  /** With requeue: the attempt was interrupted through no fault of the job and is not counted. */
  readonly refund?: true;
}

/** The result of a move; the head of transition.lua explains the codes. */
export interface Outcome {
  readonly code: 'ok' | 'same' | 'requested' | 'ended' | 'overtaken' | 'stale' | 'exists' | 'missing';
  readonly state: JobState | '';
  readonly rev: number;
  readonly attempt: number;
  readonly cancelRequested: boolean;
  /** After a start or progress: a caller follows the job live (previews.ts). */
  readonly watched: boolean;
  /** After a create or a start that took effect. */
  readonly record?: JobRecord;
}

export interface StoredEvent {
  /** The record's rev after the change. */
  readonly rev: number;
  readonly type: string;
  readonly at: number;
  readonly data: unknown;
}

/** The state of a job, and its events since a given rev. */
export interface RecordChanges {
  readonly state: JobState;
  readonly rev: number;
  readonly events: readonly StoredEvent[];
}

export interface RecordStoreOptions {
  readonly retentionMs: number;
}

const FLAG_ABSENT = 0;
/** The reply to a create that took effect has the creation time after these. */
const CREATE_REPLY_LENGTH = 5;

export class RecordStore {
  readonly #redis: Redis;
  readonly #keys: Keys;
  readonly #script: Script;
  readonly #retentionMs: number;

  constructor(redis: Redis, keys: Keys, options: RecordStoreOptions) {
    this.#redis = redis;
    this.#keys = keys;
    this.#retentionMs = options.retentionMs;
    this.#script = defineScript(redis, 'lehrTransition', TRANSITION_LUA);
  }

  /** Applies the moves in order in one round trip; the outcomes are in the same order. */
  async apply(moves: readonly Move[]): Promise<Outcome[]> {
    if (moves.length === 0) return [];
    const replies = await this.#script.run([this.#keys.live], this.#arguments(moves.map(encodeMove)));
    return (replies as unknown[]).map(parseOutcome);
  }

  /**
   * Writes a new record and lets `enqueue` add its job, in one round trip: both commands are sent together, the record's
   * first, so no worker claims a job without a record. They are not one transaction: the reconciler repairs what a crash of
   * Redis between the two leaves behind (and ioredis builds a MULTI of scripts at twice the cost of both commands). Creating
   * an id again changes nothing and answers `exists`, so a create whose reply was lost may be repeated.
   */
  async create(job: NewJob, enqueue: () => Promise<unknown>): Promise<Outcome> {
    const move = { move: 'create', id: job.id, fields: toStoredNames(encodeFields(job)) };
    const [replies] = await Promise.all([
      this.#script.run([this.#keys.live], this.#arguments([move])),
      enqueue(),
    ]);
    const [reply] = replies as [[...unknown[], number]];
    const outcome = parseOutcome(reply.slice(0, CREATE_REPLY_LENGTH));
    if (outcome.code !== 'ok') return outcome;
    const created_at = reply[CREATE_REPLY_LENGTH] as number;
    return { ...outcome, record: { ...job, state: 'queued', rev: outcome.rev, attempt: 0, created_at } };
  }

  /** Undefined when the record does not exist (any more). */
  async read(id: JobId): Promise<JobRecord | undefined> {
    return parseRecord(await this.#redis.hgetall(this.#keys.record(id)));
  }

  /** Records in the order of the ids, undefined where there is none; one round trip. */
  async readMany(ids: readonly JobId[]): Promise<(JobRecord | undefined)[]> {
    const pipeline = this.#redis.pipeline();
    for (const id of ids) pipeline.hgetall(this.#keys.record(id));
    const replies = (await pipeline.exec()) ?? [];
    return replies.map(([error, reply]) => {
      if (error) throw error;
      return parseRecord(reply as Record<string, string>);
    });
  }

  /** Events after `afterRev`, oldest first. */
  async events(id: JobId, afterRev: number): Promise<StoredEvent[]> {
    return (await this.#redis.xrange(this.#keys.events(id), `(${afterRev}-0`, '+')).map(parseEvent);
  }

  /**
   * At most `count` events after `afterRev`, oldest first, and the state of the record just before they were read; one
   * round trip. Undefined when the record does not exist (any more).
   */
  async changes(id: JobId, afterRev: number, count: number): Promise<RecordChanges | undefined> {
    const [record, events] = await Promise.all([
      this.#redis.hmget(this.#keys.record(id), 'state', 'rev'),
      this.#redis.xrange(this.#keys.events(id), `(${afterRev}-0`, '+', 'COUNT', count),
    ]);
    const [state, rev] = record;
    if (state === null) return undefined;
    return { state: state as JobState, rev: Number(rev), events: events.map(parseEvent) };
  }

  /** Deletes the record and events of a finished job. */
  async delete(record: JobRecord): Promise<void> {
    await this.#redis
      .multi()
      .del(this.#keys.record(record.id), this.#keys.events(record.id))
      .zrem(this.#keys.jobsOf(record.tenant), record.id)
      .exec();
  }

  #arguments(moves: readonly object[]): (string | number)[] {
    return [this.#keys.prefix, JSON.stringify(moves), this.#retentionMs];
  }
}

const encodeMove = (move: Move): object => ({
  ...move,
  fields: move.fields && encodeFields(move.fields),
  data: move.data && JSON.stringify(move.data),
});

function encodeFields(fields: Readonly<Record<string, unknown>>): Record<string, string> {
  const encoded: Record<string, string> = {};
  for (const name in fields) {
    const value = fields[name];
    if (value === undefined) continue;
    encoded[name] = typeof value === 'object' ? JSON.stringify(value) : String(value);
  }
  return encoded;
}

const parseEvent = ([entryId, [, type, , at, , data]]: [string, string[]]): StoredEvent => ({
  rev: Number.parseInt(entryId, 10),
  type,
  at: Number(at),
  data: JSON.parse(data),
});

function parseOutcome(reply: unknown): Outcome {
  const [code, state, rev, attempt, cancelRequested, watched, flat] = reply as [
    Outcome['code'],
    Outcome['state'],
    number,
    number,
    number,
    number | undefined,
    string[] | undefined,
  ];
  const outcome = {
    code,
    state,
    rev,
    attempt,
    cancelRequested: cancelRequested !== FLAG_ABSENT,
    watched: (watched ?? FLAG_ABSENT) !== FLAG_ABSENT,
  };
  if (!flat) return outcome;
  const record: Record<string, string> = {};
  for (let i = 0; i < flat.length; i += 2) record[flat[i]] = flat[i + 1];
  return { ...outcome, record: parseRecord(record) };
}

function parseRecord(hash: Record<string, string>): JobRecord | undefined {
  if (Object.keys(hash).length === 0) return undefined;
  const parsed = JobRecordSchema.safeParse(fromStoredNames(hash));
  if (parsed.success) return parsed.data;
  throw new LehrError('internal', `Record ${hash.id} does not fit its schema. This is a bug in Lehr.`, {
    cause: parsed.error,
  });
}

/**
 * Records in Redis: written by queue/accept.lua and transition.lua (their cost also by queue/reprice.lua, their checkpoint by checkpoint.lua), parsed
 * with their schema on the way out.
 */
import { readFileSync } from 'node:fs';
import { LehrError } from '../base/errors.ts';
import type { JobId, LeaseToken } from '../base/ids.ts';
import type { JobState } from '../contracts/job.ts';
import { defineScript, type Keys, type Redis, type Script } from '../redis/index.ts';
import { repliesOf } from '../redis/script.ts';
import {
  type JobOutline,
  type JobRecord,
  MOVES,
  type MoveName,
  type NewJob,
  RECORD_FIELDS,
} from './record.ts';
import {
  encodeFields,
  notHash,
  type Outcome,
  parseEvents,
  parseOutcome,
  parseRecord,
  type StoredEvent,
} from './replies.ts';
import { BUCKETS_LUA } from './rollout-share.ts';
import { isNewer, SCHEMA_VERSION, type Unreadable, UnreadableList } from './unreadable.ts';

/** A Lua table: reading it from JSON would take longer than most moves. */
const MOVES_LUA = Object.entries(MOVES)
  .map(
    ([move, { from, to }]) =>
      `${move} = { from = { ${from.map((state) => `${state} = true`)} }, to = '${to}' }`,
  )
  .join(', ');
/** The function `is_paused`. */
export const IS_PAUSED_LUA = readFileSync(new URL('./is-paused.lua', import.meta.url), 'utf8');
/** Functions for scripts that plan the nodes of workflows. */
export const PLANNED_LUA = readFileSync(new URL('./planned.lua', import.meta.url), 'utf8');
/** The function `count_use`. */
export const COUNT_USE_LUA = readFileSync(new URL('./count-use.lua', import.meta.url), 'utf8');
/** The function that makes a record, for scripts with KEYS and ARGV as in transition.lua. */
export const CREATE_LUA = [
  IS_PAUSED_LUA,
  PLANNED_LUA,
  readFileSync(new URL('./move-effects.lua', import.meta.url), 'utf8'),
  readFileSync(new URL('./create.lua', import.meta.url), 'utf8'),
].join('\n');
/** The function `apply`, which makes one move, for scripts with KEYS and ARGV as in transition.lua. */
export const APPLY_LUA = [
  `local MOVES = { ${MOVES_LUA} }`,
  CREATE_LUA,
  BUCKETS_LUA,
  COUNT_USE_LUA,
  readFileSync(new URL('./count-outcome.lua', import.meta.url), 'utf8'),
  readFileSync(new URL('./transition.lua', import.meta.url), 'utf8'),
].join('\n');
const TRANSITION_LUA = `${APPLY_LUA}
local outcomes = {}
for i, m in ipairs(cjson.decode(ARGV[2])) do outcomes[i] = apply(m) end
return outcomes`;
const CHANGES_LUA = readFileSync(new URL('./changes.lua', import.meta.url), 'utf8');

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
  /** With cancel: only a job that waits and whose entry in `keys.abandoned` has a score of at most `before`; the entry is removed. */
  readonly abandoned?: { readonly entry: string; readonly before: number };
}

/** The state of a job, and its events since a given rev. */
export interface RecordChanges {
  readonly state: JobState;
  readonly rev: number;
  readonly events: readonly StoredEvent[];
}

export interface FoundRecords<Found = JobRecord> {
  /** In the order of the ids; undefined where there is no record, or where it cannot be read. */
  readonly records: readonly (Found | undefined)[];
  readonly missing: readonly JobId[];
  readonly unreadable: readonly Unreadable[];
}

/** `enqueued`: what adding the job to its queue resolved with. */
export type Created<Enqueued> = Outcome & { readonly enqueued: Enqueued };

export interface RecordStoreOptions {
  readonly retentionMs: number;
  /** How long the use of a day is kept. */
  readonly usageMs?: number | undefined;
}

export const DEFAULT_USAGE_MS = 400 * 86_400_000;

/** More than a record ever has. */
const MAX_EVENTS = 1000;
/** Whole records per pipeline: one with the longest inputs has almost a megabyte. */
const READ_AT_ONCE = 8;
const OUTLINE_FIELDS = RECORD_FIELDS.filter((name) => name !== 'input');
/** The reply to a create that took effect has the creation time after these. */
const CREATE_REPLY_LENGTH = 5;

type Reply = [error: Error | null, reply: unknown];

export class RecordStore {
  readonly #redis: Redis;
  readonly #keys: Keys;
  readonly #script: Script;
  readonly #changes: Script;
  /** How long a finished record is kept. */
  readonly retentionMs: number;
  readonly usageMs: number;
  /** ARGV[3] of the scripts that end jobs. */
  readonly kept: string;
  readonly #unreadable: UnreadableList;

  constructor(redis: Redis, keys: Keys, options: RecordStoreOptions) {
    this.#redis = redis;
    this.#keys = keys;
    this.retentionMs = options.retentionMs;
    this.usageMs = options.usageMs ?? DEFAULT_USAGE_MS;
    this.kept = `${this.retentionMs} ${this.usageMs}`;
    this.#unreadable = new UnreadableList(redis, keys);
    this.#script = defineScript(redis, 'lehrTransition', TRANSITION_LUA);
    this.#changes = defineScript(redis, 'lehrChanges', CHANGES_LUA);
  }

  /** Applies the moves in order in one round trip; the outcomes are in the same order. */
  async apply(moves: readonly Move[]): Promise<Outcome[]> {
    if (moves.length === 0) return [];
    const replies = await this.#script.run([this.#keys.live], this.#arguments(moves.map(encodeMove)));
    return (replies as unknown[]).map((reply, i) => this.outcomeOf(reply, moves[i].id));
  }

  /** What a script with APPLY_LUA replied of a move; a record that cannot be read is noted. */
  outcomeOf(reply: unknown, id: JobId): Outcome {
    const outcome = parseOutcome(reply, id);
    if (outcome.unreadable) this.#unreadable.add([outcome.unreadable]);
    return outcome;
  }

  /**
   * Writes a new record and lets `enqueue` add its job, in one round trip: both commands are sent together, the record's
   * first, so no worker claims a job without a record. They are not one transaction: the reconciler repairs what a crash of
   * Redis between the two leaves behind (and ioredis builds a MULTI of scripts at twice the cost of both commands). Creating
   * an id again changes nothing and answers `exists`, so a create whose reply was lost may be repeated.
   */
  async create<Enqueued>(job: NewJob, enqueue: () => Promise<Enqueued>): Promise<Created<Enqueued>> {
    const move = {
      move: 'create',
      id: job.id,
      fields: storedFields(job),
    };
    const [replies, enqueued] = await Promise.all([
      this.#script.run([this.#keys.live], this.#arguments([move])),
      enqueue(),
    ]);
    const [reply] = replies as [[...unknown[], number]];
    const outcome = { ...parseOutcome(reply.slice(0, CREATE_REPLY_LENGTH), job.id), enqueued };
    if (outcome.code !== 'ok') return outcome;
    const created_at = reply[CREATE_REPLY_LENGTH] as number;
    return { ...outcome, record: newRecord(job, created_at) };
  }

  /**
   * Undefined when the record does not exist (any more). Throws `unavailable` for a record of a newer version, which another
   * process may be able to read, and `internal` for one that is damaged.
   */
  async read(id: JobId): Promise<JobRecord | undefined> {
    const { record, unreadable } = parseRecord(id, await this.#redis.hgetall(this.#keys.record(id)));
    if (!unreadable) return record;
    this.#unreadable.add([unreadable]);
    const { version, reason } = unreadable;
    throw isNewer(unreadable)
      ? new LehrError(
          'unavailable',
          `Version ${version} of Lehr wrote this job, and this process cannot read it.`,
        )
      : new LehrError('internal', `Record ${id} does not fit its schema (${reason}).`);
  }

  /** Also tells which records are missing and which cannot be read. */
  async find(ids: readonly JobId[]): Promise<FoundRecords> {
    const replies: Reply[] = [];
    for (let i = 0; i < ids.length; i += READ_AT_ONCE) {
      const pipeline = this.#redis.pipeline();
      for (const id of ids.slice(i, i + READ_AT_ONCE)) pipeline.hgetall(this.#keys.record(id));
      replies.push(...((await pipeline.exec()) ?? []));
    }
    return this.#found(ids, replies, (reply) => reply as Record<string, string>);
  }

  /** In the order of the ids, undefined where there is none or it cannot be read. */
  async readMany(ids: readonly JobId[]): Promise<readonly (JobRecord | undefined)[]> {
    return (await this.find(ids)).records;
  }

  /** As `find`, without the inputs, which may be large; one round trip. */
  async outlines(ids: readonly JobId[]): Promise<FoundRecords<JobOutline>> {
    const pipeline = this.#redis.pipeline();
    for (const id of ids) pipeline.hmget(this.#keys.record(id), ...OUTLINE_FIELDS);
    return this.#found(ids, (await pipeline.exec()) ?? [], (reply) => {
      const values = reply as (string | null)[];
      const present = OUTLINE_FIELDS.flatMap((name, i) => (values[i] === null ? [] : [[name, values[i]]]));
      return present.length === 0 ? {} : { ...Object.fromEntries(present), input: '{}' };
    });
  }

  #found(
    ids: readonly JobId[],
    replies: readonly Reply[],
    hashOf: (reply: unknown) => Record<string, string>,
  ): FoundRecords {
    const found = replies.map(([error, reply], i) => {
      // A key that is no hash is a damaged record.
      if (error?.message.startsWith('WRONGTYPE')) return { unreadable: notHash(ids[i]) };
      if (error) throw error;
      return parseRecord(ids[i], hashOf(reply));
    });
    const unreadable = found.flatMap((each) => each.unreadable ?? []);
    this.#unreadable.add(unreadable);
    return {
      records: found.map(({ record }) => record),
      missing: ids.filter((_, i) => !found[i].record && !found[i].unreadable),
      unreadable,
    };
  }

  /** Those of these jobs that their worker was asked to cancel. */
  async cancelRequested(ids: readonly JobId[]): Promise<readonly JobId[]> {
    const pipeline = this.#redis.pipeline();
    for (const id of ids) pipeline.hget(this.#keys.record(id), 'cancel_requested');
    const replies = repliesOf(await pipeline.exec());
    return ids.filter((_, i) => replies[i] !== null);
  }

  /** All events after `afterRev`, oldest first. */
  async events(id: JobId, afterRev: number): Promise<readonly StoredEvent[]> {
    return (await this.changes(id, afterRev, MAX_EVENTS))?.events ?? [];
  }

  /**
   * At most `count` events after `afterRev`, oldest first, and the state of the record; one round trip. Undefined when the record
   * does not exist (any more).
   */
  async changes(id: JobId, afterRev: number, count: number): Promise<RecordChanges | undefined> {
    const reply = await this.#changes.run([this.#keys.record(id), this.#keys.events(id)], [afterRev, count]);
    if (reply === null) return undefined;
    const [state, rev, events] = reply as [JobState, string, string[]];
    return { state, rev: Number(rev), events: parseEvents(events) };
  }

  /** Deletes the record and events of a finished job. */
  async delete({ id, tenant, ...record }: JobOutline): Promise<void> {
    const endedAt = 'finished_at' in record ? record.finished_at : 0;
    await this.#redis
      .multi()
      .del(this.#keys.record(id), this.#keys.events(id))
      .zrem(this.#keys.jobsOf(tenant), id)
      .zrem(this.#keys.endedOf(tenant, record.state), id)
      .zrem(this.#keys.failed, `${endedAt} ${id}`)
      .exec();
  }

  #arguments(moves: readonly object[]): (string | number)[] {
    return [this.#keys.prefix, JSON.stringify(moves), this.kept];
  }
}

/** A record as it is created. What is added comes before the copied fields, as in admittedJob. */
export function newRecord(job: NewJob, created_at: number): JobRecord {
  const { run_at } = job;
  return run_at === undefined
    ? { state: 'queued', rev: 1, attempt: 0, created_at, ...job }
    : { state: 'scheduled', rev: 1, attempt: 0, created_at, ...job, run_at };
}

/** The fields of a new record, or some of them, as CREATE_LUA takes them. */
export const storedFields = (job: Partial<NewJob>): Readonly<Record<string, string>> =>
  Object.assign(encodeFields(job), { v: String(SCHEMA_VERSION) });

/** A move as APPLY_LUA takes it, in JSON. */
export const encodeMove = (move: Move): object => ({
  ...move,
  fields: move.fields && encodeFields(move.fields),
  data: move.data && JSON.stringify(move.data),
});

/** Records as Redis keeps them, and what Redis and transition.lua reply about them, parsed. */
import type { JobId } from '../base/ids.ts';
import type { JobState } from '../contracts/job.ts';
import { type JobRecord, JobRecordSchema, type NewJob } from './record.ts';
import { reasonOf, type Unreadable } from './unreadable.ts';

/** The result of a move; the head of transition.lua explains the codes. */
export interface Outcome {
  readonly code:
    | 'ok'
    | 'same'
    | 'requested'
    | 'ended'
    | 'overtaken'
    | 'parked'
    | 'stale'
    | 'exists'
    | 'missing'
    | 'unreadable';
  readonly state: JobState | '';
  readonly rev: number;
  readonly attempt: number;
  readonly cancelRequested: boolean;
  /** After a start or progress: a caller follows the job; `watched`: and wants previews (previews.ts). */
  readonly followed: boolean;
  readonly watched: boolean;
  /** After a create or a start that took effect. */
  readonly record?: JobRecord;
  /** In place of the record. The start took effect all the same, unless this is the code too. */
  readonly unreadable?: Unreadable;
}

export interface StoredEvent {
  /** The record's rev after the change. */
  readonly rev: number;
  readonly type: string;
  readonly at: number;
  readonly data: unknown;
}

const FLAG_ABSENT = 0;
const WATCHED = 2;

/** `<rev> <ms> <type>`, and the data as JSON if there is any; transition.lua writes it. */
const STORED_EVENT = /^(\d+) (\d+) (\S+)(?: (.*))?$/s;

/** Nothing for an entry of another form: a newer version wrote it. */
export function parseEvents(entries: readonly string[]): StoredEvent[] {
  return entries.flatMap((entry): StoredEvent[] => {
    const [, rev, at, type, data = '{}'] = STORED_EVENT.exec(entry) ?? [];
    return type === undefined ? [] : [{ rev: Number(rev), type, at: Number(at), data: JSON.parse(data) }];
  });
}

export function parseOutcome(reply: unknown, id: JobId): Outcome {
  const [code, state, rev, attempt, cancelRequested, watched, flat] = reply as [
    Outcome['code'],
    Outcome['state'],
    number,
    number,
    number,
    number | undefined,
    string[] | string | undefined,
  ];
  const outcome = {
    code,
    state,
    rev,
    attempt,
    cancelRequested: cancelRequested !== FLAG_ABSENT,
    followed: (watched ?? FLAG_ABSENT) !== FLAG_ABSENT,
    watched: watched === WATCHED,
  };
  if (code === 'unreadable')
    return { ...outcome, unreadable: { id, version: undefined, reason: String(flat) } };
  return typeof flat === 'object' ? { ...outcome, ...parseRecord(id, hashOf(flat)) } : outcome;
}

export function hashOf(flat: readonly string[]): Record<string, string> {
  const hash: Record<string, string> = {};
  for (let i = 0; i < flat.length; i += 2) hash[flat[i]] = flat[i + 1];
  return hash;
}

/** The end of a job as transition.lua sends it to the process that holds its request. */
export interface EndedJob {
  readonly id: JobId;
  /** Absent for a long record, and for one that cannot be read. */
  readonly record?: JobRecord | undefined;
}

/** `<id> <the flat hash as JSON>`; the hash is left out when it is long. */
export function parseEndedJob(message: string): EndedJob {
  const space = message.indexOf(' ');
  const id = message.slice(0, space) as JobId;
  const flat = message.slice(space + 1);
  return { id, record: flat === '' ? undefined : parseRecord(id, hashOf(JSON.parse(flat))).record };
}

interface Parsed {
  readonly record?: JobRecord;
  readonly unreadable?: Unreadable;
}

/** Neither for an empty hash: there is no record. */
export function parseRecord(id: JobId, hash: Record<string, string>): Parsed {
  if (Object.keys(hash).length === 0) return {};
  const { success, data, error } = JobRecordSchema.safeParse(hash);
  if (success) return { record: data };
  const version = hash.v === undefined ? undefined : Number(hash.v);
  return { unreadable: { id, version, reason: reasonOf(error) } };
}

/** Of a key that holds something else than a record. */
export const notHash = (id: JobId): Unreadable => ({ id, version: undefined, reason: 'it is not a hash' });

/** A record that did not come from Redis's hash but has its form; undefined when it cannot be read. */
export const parseStoredRecord = (id: JobId, hash: Record<string, string>): JobRecord | undefined =>
  parseRecord(id, hash).record;

export function encodeFields(fields: Readonly<Record<string, unknown>>): Record<string, string> {
  const encoded: Record<string, string> = {};
  for (const name in fields) {
    const value = fields[name];
    if (value === undefined) continue;
    encoded[name] = typeof value === 'object' ? JSON.stringify(value) : String(value);
  }
  return encoded;
}

/** A whole record. */
export const encodeRecord = (record: NewJob | JobRecord): Record<string, string> =>
  encodeFields({ ...record });

/**
 * A tenant's jobs, newest first, a page at a time.
 *
 * Unfinished jobs, those that failed, expired or were cancelled, and those with the same label have indexes of their own. Types, models and
 * words have none: list.lua compares them, which took Redis 6 us for each job on a busy machine. So a filter costs a job without labels that
 * succeeds nothing, and others 122 bytes.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { firstJobIdAt, type JobId, type TenantId } from '../base/ids.ts';
import type { JobState, JobType } from '../contracts/job.ts';
import { defineScript, type Keys, type Redis, type Script } from '../redis/index.ts';
import { isTerminal, type JobRecord } from './record.ts';
import { hashOf, notHash, parseRecord } from './replies.ts';
import { UnreadableList } from './unreadable.ts';

export interface ListQuery {
  readonly limit: number;
  /** The id after which the page begins: it stays valid while jobs come and go. */
  readonly cursor?: JobId | undefined;
  readonly status?: JobState | undefined;
  readonly type?: JobType | undefined;
  /** `name` or `name@version`. */
  readonly model?: string | undefined;
  /** Of its error. */
  readonly error_code?: string | undefined;
  /** Labels that the job has, with these values. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** Made at or after this time, and before this time; ms since the epoch. */
  readonly after?: number | undefined;
  readonly before?: number | undefined;
  /** Words that its prompt, that of a node, one of its texts or its transcript contains; the letters of ASCII in any case. */
  readonly text?: string | undefined;
}

export interface Page<Shown> {
  readonly shown: Shown[];
  /** The id after which the next page begins; undefined at the end. */
  readonly next: JobId | undefined;
  /** Of the records that were read and of the texts that were searched, and 128 for each job that was looked at. */
  readonly bytes: number;
}

interface Part {
  readonly records: readonly JobRecord[];
  readonly bytes: number;
  readonly last: JobId;
  readonly more: boolean;
}

/** An id, and the record as a flat hash. */
type Found = readonly [JobId, string[]?];

const LIST_LUA = readFileSync(new URL('./list.lua', import.meta.url), 'utf8');
/** A page is read and shown in parts, so that Redis and the process serve others in between. */
const PART = { ids: 250, records: 25, bytes: 2 ** 18 };
/** A page ends after so many parts, or so many bytes of records. */
const MAX_PARTS = 8;
const MAX_BYTES = 2 ** 20;

export class JobList {
  readonly #keys: Keys;
  readonly #script: Script;
  readonly #unreadable: UnreadableList;

  constructor(redis: Redis, keys: Keys) {
    this.#keys = keys;
    this.#script = defineScript(redis, 'lehrList', LIST_LUA);
    this.#unreadable = new UnreadableList(redis, keys);
  }

  /** A page may hold fewer jobs than `limit` and still have a next one: few match its filter, or its jobs are large. */
  async page<Shown>(
    tenant: TenantId,
    query: ListQuery,
    show: (record: JobRecord) => Promise<Shown>,
  ): Promise<Page<Shown>> {
    const shown: Shown[] = [];
    let after = query.cursor ?? (query.before === undefined ? undefined : firstIdAt(query.before));
    let bytes = 0;
    for (let parts = 0; parts < MAX_PARTS && shown.length < query.limit && bytes < MAX_BYTES; parts++) {
      const part = await this.#part(tenant, { ...query, limit: query.limit - shown.length, cursor: after });
      shown.push(...(await Promise.all(part.records.map(show))));
      bytes += part.bytes;
      if (!part.more) return { shown, next: undefined, bytes };
      after = part.last;
    }
    return { shown, next: after, bytes };
  }

  /** As `page`, without reading the jobs: ids alone. */
  async ids(tenant: TenantId, query: ListQuery): Promise<Page<JobId>> {
    const shown: JobId[] = [];
    let bytes = 0;
    let after = query.cursor ?? (query.before === undefined ? undefined : firstIdAt(query.before));
    for (let parts = 0; parts < MAX_PARTS && shown.length < query.limit && bytes < MAX_BYTES; parts++) {
      const wanted = { ...query, limit: query.limit - shown.length, cursor: after };
      const { found, ...part } = await this.#ask(tenant, wanted, true);
      shown.push(...found.map(([id]) => id));
      bytes += part.bytes;
      if (!part.more) return { shown, next: undefined, bytes };
      after = part.last;
    }
    return { shown, next: after, bytes };
  }

  async #part(tenant: TenantId, query: ListQuery): Promise<Part> {
    const { found, ...rest } = await this.#ask(tenant, query, false);
    const parsed = found.map(([id, flat]) =>
      flat ? parseRecord(id, hashOf(flat)) : { unreadable: notHash(id) },
    );
    this.#unreadable.add(parsed.flatMap(({ unreadable }) => unreadable ?? []));
    return { ...rest, records: parsed.flatMap(({ record }) => record ?? []) };
  }

  async #ask(
    tenant: TenantId,
    {
      limit,
      cursor = '' as JobId,
      status,
      type,
      model = '',
      metadata = {},
      after,
      text = '',
      error_code = '',
    }: ListQuery,
    idsAlone: boolean,
  ): Promise<Omit<Part, 'records'> & { readonly found: readonly Found[] }> {
    const isUnfinished = status !== undefined && !isTerminal(status);
    const labelled = Object.entries(metadata).map(([name, value]) =>
      this.#keys.labelledOf(tenant, createHash('sha1').update(`${name}\0${value}`).digest('hex')),
    );
    const reply = await this.#script.run(
      [this.#indexOf(tenant, status), ...labelled],
      [
        ...[this.#keys.prefix, cursor, Math.min(limit, idsAlone ? PART.ids : PART.records), PART.ids],
        PART.bytes,
        ...[status ?? '', type ?? '', model, isUnfinished && labelled.length === 0 ? 0 : 1],
        ...[after === undefined ? '' : firstJobIdAt(after), lowerCase(text), idsAlone ? 1 : 0, error_code],
      ],
    );
    const [last, more, bytes, found] = reply as [JobId, number, number, Found[]];
    return { last, more: more === 1, bytes, found };
  }

  #indexOf(tenant: TenantId, status: JobState | undefined): string {
    if (status === undefined || status === 'succeeded') return this.#keys.jobsOf(tenant);
    return isTerminal(status) ? this.#keys.endedOf(tenant, status) : this.#keys.liveOf(tenant);
  }
}

/** No job has this id: those that were made before are less, all others are greater. */
const firstIdAt = (ms: number): JobId => firstJobIdAt(ms) as JobId;

/** As Lua does it. */
const lowerCase = (text: string): string => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());

/**
 * What may be large of a tenant's jobs: pages, for the lists of all dialects, and workflows. A connection of their own reads them, and a
 * tenant gets one at a time (http/bodies/paced-reads.ts): they delay other requests by no more than it takes to show a part of a page.
 */
import {
  type Clock,
  isJobId,
  type Job,
  type JobFilter,
  type JobId,
  systemClock,
  type TenantId,
} from '@lehr/shared';
import { JobList, type JobRecord, type ListQuery } from '@lehr/shared/records';
import type { Keys, Redis } from '@lehr/shared/redis';
import { refusal } from '../base/field-problems.ts';
import { PacedReads } from '../http/bodies/paced-reads.ts';
import type { Presenter } from './present.ts';

interface PageQuery extends Omit<ListQuery, 'cursor'> {
  /** From the page before. */
  readonly cursor?: string | undefined;
}

/** About as long as Redis works on such a page at most. */
const IDS_PAUSE_MS = 10;

/** The filter of requests, as the list takes it. */
export const listFilterOf = ({
  created_after,
  created_before,
  ...same
}: JobFilter): Omit<ListQuery, 'limit' | 'cursor'> => ({
  ...same,
  after: msOf(created_after),
  before: msOf(created_before),
});

const msOf = (time: string | undefined): number | undefined =>
  time === undefined ? undefined : Date.parse(time);

export class JobPages {
  /** Reads the nodes of listed workflows over the connection of the lists. */
  readonly presenter: Presenter;
  readonly #list: JobList;
  readonly #reads: PacedReads;

  constructor(redis: Redis, keys: Keys, presenter: Presenter, clock: Clock = systemClock) {
    this.presenter = presenter;
    this.#reads = new PacedReads(clock);
    this.#list = new JobList(redis, keys);
  }

  /** A job alone, as the presenter shows it. */
  job(record: JobRecord, options?: Parameters<Presenter['job']>[1]): Promise<Job> {
    const show = () => this.presenter.job(record, options);
    if (!record.workflow) return show();
    return this.#reads.run(record.tenant, show, () => charactersOf(record.input));
  }

  /** `next` is the cursor of the next page. Throws `invalid-request` for what is no cursor. */
  async page<Shown>(
    tenant: TenantId,
    query: PageQuery,
    show: (record: JobRecord) => Promise<Shown>,
  ): Promise<{ readonly shown: Shown[]; readonly next: string | null }> {
    const cursor = query.cursor === undefined ? undefined : decodeCursor(query.cursor);
    const { shown, next } = await this.#reads.run(
      tenant,
      () => this.#list.page(tenant, { ...query, cursor }, show),
      ({ bytes }) => bytes,
    );
    return { shown, next: next === undefined ? null : Buffer.from(next).toString('base64url') };
  }

  /** As `page`, ids alone. */
  async ids(
    tenant: TenantId,
    query: PageQuery,
  ): Promise<{ readonly shown: JobId[]; readonly next: string | null }> {
    const cursor = query.cursor === undefined ? undefined : decodeCursor(query.cursor);
    const { shown, next } = await this.#reads.run(
      tenant,
      () => this.#list.ids(tenant, { ...query, cursor }),
      ({ bytes }) => bytes,
      IDS_PAUSE_MS,
    );
    return { shown, next: next === undefined ? null : Buffer.from(next).toString('base64url') };
  }
}

function decodeCursor(cursor: string): JobId {
  const id = Buffer.from(cursor, 'base64url').toString();
  if (isJobId(id)) return id;
  throw refusal('invalid-request', [{ pointer: '?cursor', detail: 'is not a cursor of this list' }]);
}

/** Of all texts in a value: about its bytes, without writing it as JSON. */
function charactersOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 0;
  return Object.values(value).reduce((sum: number, each) => sum + charactersOf(each), 0);
}

/** Jobs that failed for good, and what no process could read. Read once in five seconds for all callers. */
import type { Clock, DeadLetters, JobId, TenantId } from '@lehr/shared';
import { type JobRecord, type RecordStore, toJobError, UnreadableList } from '@lehr/shared/records';
import type { Keys, Redis } from '@lehr/shared/redis';
import { Recent } from '../recent.ts';

const TTL_MS = 5_000;
const MAX_TENANTS = 50;
const MAX_JOBS_OF_TENANT = 100;
const MAX_SHOWN = 100;

export interface DeadLetterParts {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly records: RecordStore;
  readonly clock: Clock;
}

export class DeadLetterView {
  readonly #parts: DeadLetterParts;
  readonly #recent: Recent<DeadLetters>;

  constructor(parts: DeadLetterParts) {
    this.#parts = parts;
    this.#recent = new Recent(() => this.#read(), TTL_MS, parts.clock);
  }

  get(): Promise<DeadLetters> {
    return this.#recent.get();
  }

  async #read(): Promise<DeadLetters> {
    const { redis, keys } = this.#parts;
    const tenants = await this.#lastTenants();
    const failed: DeadLetters['failed'] = [];
    // One after the other, so that the process does other work between them.
    for (const tenant of tenants) failed.push(...(await this.#failedOf(tenant)));
    failed.sort((a, b) => (a.failed_at > b.failed_at ? -1 : 1));
    const unreadable = await new UnreadableList(redis, keys).list(MAX_SHOWN);
    return { object: 'dead-letters', failed: failed.slice(0, MAX_SHOWN), unreadable };
  }

  /** Those that made jobs last. The ids of jobs are in order of time. */
  async #lastTenants(): Promise<TenantId[]> {
    const { redis, keys } = this.#parts;
    const all = (await redis.smembers(keys.tenants)) as TenantId[];
    const pipeline = redis.pipeline();
    for (const tenant of all) pipeline.zrange(keys.jobsOf(tenant), '+', '-', 'BYLEX', 'REV', 'LIMIT', 0, 1);
    const newest = ((await pipeline.exec()) ?? []).map(([error, ids]) => {
      if (error) throw error;
      return (ids as JobId[]).at(0);
    });
    const active = all.flatMap((tenant, i) => {
      const job = newest[i];
      return job === undefined ? [] : [{ tenant, job }];
    });
    active.sort((a, b) => (a.job > b.job ? -1 : 1));
    return active.slice(0, MAX_TENANTS).map(({ tenant }) => tenant);
  }

  async #failedOf(tenant: TenantId): Promise<DeadLetters['failed']> {
    const { redis, keys, records } = this.#parts;
    const range = ['+', '-', 'BYLEX', 'REV', 'LIMIT', 0, MAX_JOBS_OF_TENANT] as const;
    const ids = (await redis.zrange(keys.jobsOf(tenant), ...range)) as JobId[];
    if (ids.length === 0) return [];
    const found = await records.find(ids);
    return found.records.flatMap((record) => (record?.state === 'failed' ? [present(record)] : []));
  }
}

/** Without the input, and without the error's detail, which may name parts of it. */
function present(record: Extract<JobRecord, { state: 'failed' }>): DeadLetters['failed'][number] {
  const { id, tenant, type, model, attempt, finished_at } = record;
  const { code, title } = toJobError(record.error);
  const failed_at = new Date(finished_at).toISOString();
  return { job: id, tenant, type, model, code, title, attempts: attempt, failed_at };
}

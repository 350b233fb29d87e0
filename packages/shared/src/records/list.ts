/** A tenant's jobs, newest first, a page at a time. */
import type { JobState, JobType } from '../contracts/job.ts';
import type { JobId, TenantId } from '../ids.ts';
import type { Keys, Redis } from '../redis/index.ts';
import type { JobRecord } from './record.ts';
import type { RecordStore } from './store.ts';

export interface JobFilter {
  readonly status?: JobState;
  readonly type?: JobType;
  /** `name` or `name@version`. */
  readonly model?: string;
}

export interface Page {
  readonly records: readonly JobRecord[];
  /** The id after which the next page starts; undefined at the end. */
  readonly next: JobId | undefined;
}

/** How many ids a page may examine when its filter matches few: bounds the work of a request. */
const MAX_SCANNED = 2000;
const CHUNK = 200;

/**
 * The page after `cursor` (an id, so it stays valid while jobs come and go). A filtered page may hold fewer than
 * `limit` records and still have a next one, when MAX_SCANNED ids were examined.
 */
export async function listJobs(
  redis: Redis,
  keys: Keys,
  records: RecordStore,
  tenant: TenantId,
  page: { readonly limit: number; readonly cursor?: JobId; readonly filter?: JobFilter },
): Promise<Page> {
  const index = keys.jobsOf(tenant);
  const found: JobRecord[] = [];
  let after = page.cursor;
  for (let scanned = 0; scanned < MAX_SCANNED; scanned += CHUNK) {
    const ids = (await redis.zrange(
      index,
      after ? `(${after}` : '+',
      '-',
      'BYLEX',
      'REV',
      'LIMIT',
      0,
      CHUNK,
    )) as JobId[];
    if (ids.length === 0) return { records: found, next: undefined };
    const { records: chunk, missing } = await records.find(ids);
    // Records expire by TTL; their index entries are removed when a page meets them.
    if (missing.length > 0) await redis.zrem(index, ...missing);
    for (const [i, record] of chunk.entries()) {
      after = ids[i];
      if (!record || !matches(record, page.filter)) continue;
      found.push(record);
      if (found.length === page.limit) return { records: found, next: await nextAfter(redis, index, after) };
    }
  }
  return { records: found, next: after && (await nextAfter(redis, index, after)) };
}

/** `id` itself when something older follows it, else undefined. */
async function nextAfter(redis: Redis, index: string, id: JobId): Promise<JobId | undefined> {
  const older = await redis.zrange(index, `(${id}`, '-', 'BYLEX', 'REV', 'LIMIT', 0, 1);
  return older.length > 0 ? id : undefined;
}

function matches(record: JobRecord, filter: JobFilter = {}): boolean {
  if (filter.status && record.state !== filter.status) return false;
  if (filter.type && record.type !== filter.type) return false;
  return !filter.model || record.model === filter.model || record.model.startsWith(`${filter.model}@`);
}

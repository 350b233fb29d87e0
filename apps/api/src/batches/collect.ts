/** Ends a slice: its answers become one part in the store, and its records go soon after. */
import { type JobId, jobIdsOfSlice, type TenantId } from '@lehr/shared';
import type { ObjectStore } from '@lehr/shared/objects';
import { hashOf } from '@lehr/shared/records';
import type { Keys, Redis } from '@lehr/shared/redis';
import type { BatchRecord, BatchStore, OpenSlice } from './batch-store.ts';
import { type LineResult, readSlice, writePart } from './slices.ts';

/** How long a job is found by its id after its answer is stored: followers see its end. All that end in this time are in the memory of Redis. */
const KEPT_MS = 10_000;
const READ_AT_ONCE = 50;

export interface CollectParts {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly store: ObjectStore;
  readonly batches: BatchStore;
}

export const GONE = { code: 'gone', message: 'The job of this line was deleted.' };

/** Its jobs have ended. A line without one was refused; or it was deleted since, and its answer says so. */
export async function collectSlice(
  parts: CollectParts,
  batch: BatchRecord,
  { slice, at }: OpenSlice,
): Promise<void> {
  const { store, batches } = parts;
  const { lines } = await readSlice(store, batch, slice);
  const refused = await batches.refused(batch.id, slice);
  const idOf = jobIdsOfSlice(batch.id, at);
  const ids = lines.map(({ line }) => idOf(line));
  const records = await readHashes(parts, ids);
  const results = lines.map(({ line, custom_id }, i): LineResult => {
    if (records[i].id !== undefined) return { line, custom_id, record: records[i] };
    return { line, custom_id, error: refused[i] ?? GONE };
  });
  await writePart(store, batch, slice, results);
  const written = results.filter(({ record }) => record?.state === 'succeeded').length;
  if (!(await batches.closeSlice(batch.id, slice, Object.keys(refused).length, written))) return;
  await letGo(parts, batch.tenant, results);
}

async function readHashes(
  { redis, keys }: CollectParts,
  ids: readonly JobId[],
): Promise<Readonly<Record<string, string>>[]> {
  const hashes: Readonly<Record<string, string>>[] = [];
  for (let i = 0; i < ids.length; i += READ_AT_ONCE) {
    const pipeline = redis.pipeline();
    for (const id of ids.slice(i, i + READ_AT_ONCE)) pipeline.hgetall(keys.record(id));
    for (const [error, reply] of (await pipeline.exec()) ?? []) {
      if (error) throw error;
      hashes.push(Array.isArray(reply) ? hashOf(reply as string[]) : (reply as Record<string, string>));
    }
  }
  return hashes;
}

/** Jobs with webhooks keep their records, which deliveries read. A process that dies here leaves records that expire later. */
async function letGo(
  { redis, keys }: CollectParts,
  tenant: TenantId,
  results: readonly LineResult[],
): Promise<void> {
  const ended = results.flatMap(({ record }) => (record && record.hook_events === undefined ? [record] : []));
  if (ended.length === 0) return;
  const pipeline = redis.pipeline();
  for (const { id } of ended) {
    pipeline.pexpire(keys.record(id as JobId), KEPT_MS);
    pipeline.pexpire(keys.events(id as JobId), KEPT_MS);
  }
  pipeline.zrem(keys.jobsOf(tenant), ...ended.map(({ id }) => id));
  for (const state of ['failed', 'canceled', 'expired'] as const) {
    const ids = ended.filter((record) => record.state === state).map(({ id }) => id);
    if (ids.length > 0) pipeline.zrem(keys.endedOf(tenant, state), ...ids);
  }
  await pipeline.exec();
}

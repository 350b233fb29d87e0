/**
 * Deletes what is left of jobs that are gone: objects of jobs that were removed because Redis filled, and queue entries that a
 * worker was closing when their job was deleted.
 */
import {
  type Clock,
  every,
  inputFolder,
  type JobId,
  type Log,
  type Metrics,
  type ObjectKey,
  outputFolder,
  type TenantId,
} from '@lehr/shared';
import type { ObjectStore } from '@lehr/shared/objects';
import type { GroupQueues } from '@lehr/shared/queue';
import { type Keys, type Redis, redisNow } from '@lehr/shared/redis';
import { takerOf } from '../base/take-due.ts';
import type { StorageQuota } from './space/storage-quota.ts';

const EVERY_MS = 5_000;
/** Per call, and how many of them are deleted at the same time. */
const TAKEN = 100;
const AT_ONCE = 8;
/** What could not be deleted, or was taken by a process that died, is due again after this. */
const AGAIN_MS = 30_000;
/** A worker closes the entry of an ended job at once. */
const CLOSING_MS = 2_000;

interface LeftoverParts extends JobObjectParts {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly queues: GroupQueues;
  readonly metrics: Pick<Metrics<'api'>, 'janitorActions'>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Notes that the queue entry of a deleted job is still to be removed. */
export async function noteOpenEntry(
  { redis, keys }: Pick<LeftoverParts, 'redis' | 'keys'>,
  { tenant, id, queue }: { readonly tenant: TenantId; readonly id: JobId; readonly queue: string },
): Promise<void> {
  await redis.zadd(keys.leftovers, (await redisNow(redis)) + CLOSING_MS, `${tenant} ${id} ${queue}`);
}

/** Every API process looks for leftovers that are due. Returns a function that stops it. */
export const deleteLeftovers = (parts: LeftoverParts): (() => Promise<void>) =>
  every(EVERY_MS, (signal) => deleteDueLeftovers(parts, signal), {
    ...parts,
    failed: 'could not delete what is left of removed jobs; trying again',
  });

/** One round. Rejects with the first failure after all others were tried; what failed is due again. */
export async function deleteDueLeftovers(parts: LeftoverParts, signal?: AbortSignal): Promise<void> {
  const { redis, keys } = parts;
  const take = takerOf(redis, keys.leftovers);
  const failures: unknown[] = [];
  let due: string[];
  do {
    due = await take({ count: TAKEN, holdMs: AGAIN_MS });
    const left = [...due];
    const work = async (): Promise<void> => {
      for (let entry = left.pop(); entry !== undefined && !signal?.aborted; entry = left.pop()) {
        await deleteOne(parts, entry).catch((error) => failures.push(error));
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
  } while (due.length === TAKEN && failures.length === 0 && !signal?.aborted);
  if (failures.length > 0) throw failures[0];
}

async function deleteOne(parts: LeftoverParts, entry: string): Promise<void> {
  const { redis, keys, queues, metrics } = parts;
  const [tenant, id, queue] = entry.split(' ') as [TenantId, JobId, string];
  await deleteJobObjects(parts, { tenant, id });
  if (!(await queues.of(queue).remove(id))) return;
  if ((await redis.zrem(keys.leftovers, entry)) > 0) metrics.janitorActions.inc({ action: 'leftovers' });
}

export interface JobObjectParts {
  readonly store: ObjectStore;
  readonly storage: StorageQuota;
}

/**
 * Safe to repeat. Rejects with `storage-failed` after it has deleted all that it could. The space of inputs is freed first: what was
 * deleted before a failure is no longer listed when the deletion is repeated.
 */
export async function deleteJobObjects(
  { store, storage }: JobObjectParts,
  { tenant, id }: { readonly tenant: TenantId; readonly id: JobId },
): Promise<void> {
  const [inputs, outputs] = await Promise.all(
    [inputFolder(tenant, id), outputFolder(tenant, id)].map((prefix) => listed(store, prefix)),
  );
  await storage.free(tenant, ...inputs);
  await store.deleteMany([...inputs, ...outputs]);
}

async function listed(store: ObjectStore, prefix: string): Promise<ObjectKey[]> {
  const keys: ObjectKey[] = [];
  for await (const key of store.list(prefix)) keys.push(key);
  return keys;
}

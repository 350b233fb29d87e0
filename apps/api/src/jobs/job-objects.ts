/** Deletes what a job has in the store: its inputs, outputs and checkpoints. */
import { inputFolder, type JobId, type ObjectKey, outputFolder, type TenantId } from '@lehr/shared';
import type { ObjectStore } from '@lehr/shared/objects';
import type { StorageQuota } from './room/storage-quota.ts';

export interface JobObjectParts {
  readonly store: ObjectStore;
  readonly storage: StorageQuota;
}

/**
 * Safe to repeat. Rejects with `storage-failed` after it has deleted all that it could. The room of inputs is freed first: what was
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

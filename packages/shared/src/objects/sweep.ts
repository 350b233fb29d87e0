/** Removes old outputs and uploads. Every key contains the id of its job or file, and the id contains its time. */
import type { ObjectStore } from './store.ts';

/**
 * Deletes outputs and uploads made before `before` (unix ms); returns how many. Objects with other keys stay. If some cannot be
 * deleted, it deletes all others and then rejects with the first failure.
 */
export async function sweepObjects(
  store: ObjectStore,
  before: number,
  signal?: AbortSignal,
): Promise<number> {
  let removed = 0;
  const failures: unknown[] = [];
  for await (const keys of store.listMadeBefore(before)) {
    if (signal?.aborted) return removed;
    try {
      await store.deleteMany(keys);
      removed += keys.length;
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
  return removed;
}

/** Removes old outputs and uploads. Every key contains the id of its job or file, and the id contains its time. */
import { type ObjectKey, timeOfId, toObjectKey } from '../ids.ts';
import type { ObjectStore } from './store.ts';

const PREFIXES = ['out/', 'in/'] as const;
/** `<prefix>/<tenant>/<job_ or file_><ULID>...` */
const JOB_OR_FILE_ID = /^(?:out|in)\/[^/]+\/((?:job|file)_[0-9a-hjkmnp-tv-z]{26})(?:\/|$)/;

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
  for (const prefix of PREFIXES) {
    const old: ObjectKey[] = [];
    for await (const key of store.list(prefix)) {
      if (signal?.aborted) return removed;
      const id = JOB_OR_FILE_ID.exec(key)?.[1];
      if (id !== undefined && timeOfId(id) < before) old.push(toObjectKey(key));
    }
    for (const key of old) {
      if (signal?.aborted) return removed;
      try {
        await store.delete(key);
        removed += 1;
      } catch (error) {
        failures.push(error);
      }
    }
  }
  if (failures.length > 0) throw failures[0];
  return removed;
}

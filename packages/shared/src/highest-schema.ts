/** The newest schema of what is in Redis: a process that knows it can read all of it. */
import { readApiProcesses } from './api-processes.ts';
import { readWorkerVersions } from './fleet.ts';
import { FIRST_SCHEMA, isSchema, SCHEMA_VERSION, UnreadableList } from './records/unreadable.ts';
import type { Keys, Redis } from './redis/index.ts';

/** The highest SCHEMA_VERSION of this process, of the processes that report, and of the records that an older one found. */
export async function highestSchema(redis: Redis, keys: Keys): Promise<number> {
  const [apis, workers, unreadable] = await Promise.all([
    readApiProcesses(redis, keys),
    readWorkerVersions(redis, keys),
    new UnreadableList(redis, keys).versions(),
  ]);
  // A backup with a label that no version has could not be restored by any.
  const reported = [...apis, ...workers].map(({ v = FIRST_SCHEMA }) => v).filter(isSchema);
  return Math.max(SCHEMA_VERSION, ...reported, ...unreadable);
}

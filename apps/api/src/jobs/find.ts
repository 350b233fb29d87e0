import { isJobId, LehrError } from '@lehr/shared';
import type { JobRecord, RecordStore } from '@lehr/shared/records';
import type { Caller } from '../auth/authenticator.ts';

/** The caller's own job. An id that is malformed, unknown or somebody else's is `not-found`, told apart by nothing. */
export async function findJob(records: RecordStore, caller: Caller, id: string): Promise<JobRecord> {
  const record = isJobId(id) ? await records.read(id) : undefined;
  if (record && record.tenant === caller.tenant) return record;
  throw new LehrError('not-found', 'There is no such job, or no longer.');
}

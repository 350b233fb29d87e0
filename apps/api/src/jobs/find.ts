import { isJobId, LehrError } from '@lehr/shared';
import type { JobRecord, RecordStore } from '@lehr/shared/records';
import type { Caller } from '../auth/authenticator.ts';

/** A job of the caller's tenant. Throws the same `not-found` for a malformed id, an unknown id and another tenant's job. */
export async function findJob(records: RecordStore, caller: Caller, id: string): Promise<JobRecord> {
  const record = isJobId(id) ? await records.read(id) : undefined;
  if (record && record.tenant === caller.tenant) return record;
  throw new LehrError('not-found', 'There is no such job. It may have been deleted.');
}

import { isJobId, type JobId, LehrError, type TenantId } from '@lehr/shared';
import type { JobRecord, RecordStore } from '@lehr/shared/records';
import type { Caller } from '../access/auth/authenticator.ts';

/** A job of the caller's tenant. Throws the same `not-found` for a malformed id, an unknown id and another tenant's job. */
export async function findJob(records: RecordStore, caller: Caller, id: string): Promise<JobRecord> {
  const record = isJobId(id) ? await records.read(id) : undefined;
  if (record && record.tenant === caller.tenant) return record;
  throw new LehrError('not-found', 'There is no such job. It may have been deleted.');
}

/** Knows the jobs of unanswered requests. */
export interface Unanswered {
  adopt(tenant: TenantId, id: JobId): Promise<void>;
}

/**
 * As `findJob`, for a caller that waits for the job: it is no longer canceled because its request got no answer. It is adopted before
 * it is read, so that a job that is shown as waiting stays.
 */
export async function adoptJob(
  { records, unanswered }: { readonly records: RecordStore; readonly unanswered: Unanswered },
  caller: Caller,
  id: string,
): Promise<JobRecord> {
  if (isJobId(id)) await unanswered.adopt(caller.tenant, id);
  return findJob(records, caller, id);
}

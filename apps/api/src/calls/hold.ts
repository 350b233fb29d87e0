/** Holding a request until its job is over, for wires that know no other answer. */
import type { JobRecord } from '@lehr/shared/records';
import type { Context } from 'hono';
import type { ApiEnv, ApiParts } from '../api.ts';
import { findJob } from '../jobs/find.ts';
import { isOver } from '../jobs/present.ts';
import { JobEndedError } from './job-ended-error.ts';
import type { MadeJob } from './make-job.ts';

export type SucceededRecord = Extract<JobRecord, { state: 'succeeded' }>;

/**
 * Waits at most `holdMs`; resolves with the record as it is then, and what becomes of the answer is for the caller to say. When
 * it rejects, the job is there for the next one who asks.
 */
export async function hold(
  c: Context<ApiEnv>,
  { records, waits }: ApiParts,
  { record: first, held, lost }: MadeJob,
  holdMs: number,
): Promise<JobRecord> {
  await held();
  try {
    return await waits.until({
      id: first.id,
      first,
      read: () => findJob(records, c.var.caller, first.id),
      isOver,
      timeoutMs: holdMs,
      signal: () => c.req.raw.signal,
    });
  } catch (error) {
    await lost();
    throw error;
  }
}

/** The job that succeeded. Throws JobEndedError for any other, and when the hold came to its end. */
export async function holdUntilDone(
  c: Context<ApiEnv>,
  parts: ApiParts,
  made: MadeJob,
  holdMs: number,
): Promise<SucceededRecord> {
  const endsAt = parts.clock.monotonic() + holdMs;
  const record = await hold(c, parts, made, holdMs);
  if (!isOver(record)) {
    await made.lost();
    throw new JobEndedError(parts.clock.monotonic() < endsAt ? 'stopping' : 'late', record);
  }
  if (!c.req.raw.signal.aborted) await made.answered();
  return succeeded(record);
}

/** Throws JobEndedError unless the job that is over succeeded. */
export function succeeded(record: JobRecord): SucceededRecord {
  switch (record.state) {
    case 'succeeded':
      return record;
    case 'failed':
    case 'canceled':
    case 'expired':
      throw new JobEndedError(record.state, record);
    case 'queued':
    case 'running':
      throw new Error(`Job ${record.id} is not over. This is a bug in Lehr.`);
  }
}

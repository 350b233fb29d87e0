/** Holds a request until its job ends, for dialects that answer with the job's result. */
import type { Clock } from '@lehr/shared';
import type { JobRecord, RecordStore } from '@lehr/shared/records';
import type { Context } from 'hono';
import type { JobWaits } from '../../follow/wait.ts';
import { inactive } from '../../http/in-turns.ts';
import type { ApiEnv } from '../../http/middleware/api-env.ts';
import { findJob } from '../find.ts';
import { isOver } from '../present.ts';
import { JobEndedError } from './job-ended-error.ts';
import type { MadeJob } from './make-job.ts';

export interface HoldParts {
  readonly records: RecordStore;
  readonly waits: JobWaits;
  readonly clock: Clock;
}

export type SucceededRecord = Extract<JobRecord, { state: 'succeeded' }>;

/** The job when it is over, or as it is after `timeoutMs`, when the caller hangs up, or when the server stops. */
export const waitUntilOver = (
  c: Context<ApiEnv>,
  { records, waits }: Pick<HoldParts, 'records' | 'waits'>,
  first: JobRecord,
  timeoutMs: number,
): Promise<JobRecord> =>
  waits.until({
    id: first.id,
    first,
    read: () => findJob(records, c.var.caller, first.id),
    isOver,
    timeoutMs,
    inactive: (wait) => inactive(c, wait),
    signal: () => c.req.raw.signal,
  });

/**
 * As `waitUntilOver`, and marks the request as held. The calling code marks it as answered or unanswered; a rejection has marked
 * it as unanswered already.
 */
export async function hold(
  c: Context<ApiEnv>,
  parts: HoldParts,
  made: MadeJob,
  holdMs: number,
): Promise<JobRecord> {
  await made.markHeld();
  try {
    return await waitUntilOver(c, parts, made.record, holdMs);
  } catch (error) {
    await made.markUnanswered();
    throw error;
  }
}

/** The job that succeeded. Throws JobEndedError for every other end, and when the hold ends before the job. */
export async function holdUntilDone(
  c: Context<ApiEnv>,
  parts: HoldParts,
  made: MadeJob,
  holdMs: number,
): Promise<SucceededRecord> {
  const endsAt = parts.clock.monotonic() + holdMs;
  const record = await hold(c, parts, made, holdMs);
  if (!isOver(record)) {
    await made.markUnanswered();
    throw new JobEndedError(parts.clock.monotonic() < endsAt ? 'stopping' : 'late', record);
  }
  if (!c.req.raw.signal.aborted) await made.markAnswered();
  return succeeded(record);
}

/** Takes a job that is over. Throws JobEndedError unless it succeeded. */
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

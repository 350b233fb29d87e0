/** Holds a request until its job ends: for `?wait`, and for dialects that answer with the job's result. */
import { type Clock, type JobId, LehrError } from '@lehr/shared';
import type { JobRecord, RecordStore } from '@lehr/shared/records';
import type { Context } from 'hono';
import type { JobWaits } from '../../follow/wait.ts';
import { inactive } from '../../http/fair-admission.ts';
import type { ApiEnv } from '../../http/middleware/api-env.ts';
import { findJob } from '../find.ts';
import { isOver } from '../present.ts';
import type { MadeJob } from './make-job.ts';

interface HoldParts {
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
    case 'scheduled':
    case 'queued':
    case 'running':
      throw new Error(`Job ${record.id} is not over. This is a bug in Lehr.`);
  }
}

/** `late`: the hold ended before the job; `stopping`: the server stops. In both cases the job continues. */
export type JobEnd = 'failed' | 'canceled' | 'expired' | 'late' | 'stopping';

export class JobEndedError extends LehrError {
  readonly end: JobEnd;
  readonly job: JobId;

  constructor(end: JobEnd, record: JobRecord) {
    const [code, message] = codeOf(end, record);
    const problems = record.state === 'failed' ? record.error.problems : undefined;
    super(code, message, { problems });
    this.end = end;
    this.job = record.id;
  }
}

function codeOf(end: JobEnd, record: JobRecord): [LehrError['code'], string] {
  switch (end) {
    case 'failed':
      return record.state === 'failed'
        ? [record.error.code, `The job failed: ${record.error.detail}`]
        : ['internal', 'The job failed.'];
    case 'canceled':
      return ['conflict', 'The job was canceled.'];
    case 'expired':
      return ['deadline-exceeded', 'The deadline of the job passed before it was finished.'];
    case 'late':
      return [
        'hold-expired',
        'The job is not finished yet. Repeat the request within a minute to wait for the same job, or get the job: a job that no ' +
          'caller asks for is canceled if it still waits.',
      ];
    case 'stopping':
      return ['unavailable', 'This server is stopping. Retry the request.'];
  }
}

/** Makes the job of a request, on every route that makes jobs, and marks whether the request gets its answer. */
import {
  type Durability,
  type JobId,
  type JobRequest,
  type Log,
  type Metrics,
  toLehrError,
} from '@lehr/shared';
import type { DuplicateRequest } from '@lehr/shared/queue';
import type { JobRecord } from '@lehr/shared/records';
import type { Context } from 'hono';
import { quotaHeaders } from '../../access/quotas.ts';
import type { JobWaits } from '../../follow/wait.ts';
import { inactive } from '../../http/fair-admission.ts';
import type { ApiEnv } from '../../http/middleware/api-env.ts';
import type { Hook } from '../../webhooks/hook.ts';
import { metricLabels } from '../cancel.ts';
import type { DirectJob } from '../direct-calls.ts';
import { identify, type RequestIdentity } from '../identity.ts';
import type { RetryRequest } from '../retry.ts';
import { replayOf, type Submission, type SubmitParts, submitJob } from '../submit.ts';
import type { TenantUsage } from '../tenant-usage.ts';
import { DURABILITY } from './call-headers.ts';
import { inNames, type Names } from './field-names.ts';
import { onLostAnswer, type UnansweredRequests } from './unanswered-requests.ts';

export interface CallParts extends SubmitParts {
  readonly waits: Pick<JobWaits, 'holder'>;
  readonly unanswered: UnansweredRequests;
  readonly metrics: Pick<Metrics<'api'>, 'jobsAccepted'>;
  readonly tenantUsage: TenantUsage;
  readonly log: Log;
}

export interface JobCall {
  /** Method and path of the route, as in the OpenAPI document. */
  readonly route: string;
  /** The body as parsed; of an upload, its fields and a digest of the file. */
  readonly body: unknown;
  readonly request: JobRequest | (() => Promise<RetryRequest>);
  /** The dialect's names of the native fields; absent on the native route. */
  readonly names?: Names;
  readonly idempotencyKey?: string | undefined;
  /** Absent: the webhook of the native request. */
  readonly hook?: Hook | undefined;
  /** The request waits for the end of its job. */
  readonly isHeld?: boolean;
  /** Absent: as the native request says. Counts only when the request is held. */
  readonly durability?: Durability | undefined;
  /** See DuplicateRequest. */
  readonly isRetry?: boolean;
  /** See DuplicateRequest. */
  readonly maxHeld?: number;
  /** When the request ends unanswered and no caller retries it or gets the job in time, the job is canceled if it still waits. */
  readonly cancelIfAbandoned: boolean;
}

/** A job, and the marks on its request that decide whether a later duplicate gets this job or a new one. */
export interface MadeJob {
  readonly record: JobRecord;
  /** See Submission. */
  readonly position?: number | undefined;
  /** False when an earlier request made the job. */
  readonly isNew: boolean;
  /** False for a job without a record, which has ended when it is here. */
  readonly isStored: boolean;
  /** Headers for the answer. */
  readonly headers: Readonly<Record<string, string>>;
  /** The request waits for its answer: a duplicate that says it is a retry takes the job over. */
  markHeld(): Promise<void>;
  /** The request has its answer: a duplicate makes a new job. */
  markAnswered(): Promise<void>;
  /** The request ended without an answer: the next duplicate takes the job over. */
  markUnanswered(): Promise<void>;
}

/** Throws what submitJob throws, with the field names of the dialect. */
export async function makeJob(c: Context<ApiEnv>, parts: CallParts, call: JobCall): Promise<MadeJob> {
  const { request, durability, cancelIfAbandoned } = call;
  const identity = identifyCall(c, call);
  let submission = await submitCall(
    c,
    parts,
    call,
    identity,
    durability ?? ('durability' in request ? request.durability : undefined),
  );
  if (submission.direct) {
    const direct = await directJob(c, parts, submission, submission.direct);
    if (direct) return direct;
    submission = await submitCall(c, parts, call, identity, 'stored');
  }
  const { record, how } = submission;
  if (how === 'new') countJob(parts, record);
  return {
    record,
    position: submission.position,
    isNew: how === 'new',
    isStored: true,
    headers: headersOf(submission),
    ...trackAnswer(c, parts, record.id, identity.duplicate, cancelIfAbandoned),
  };
}

function identifyCall(c: Context<ApiEnv>, { route, body, idempotencyKey, isRetry, maxHeld }: JobCall) {
  return identify(c.get('caller'), route, body, {
    idempotencyKey,
    ...(isRetry !== undefined && { isRetry }),
    ...(maxHeld !== undefined && { maxHeld }),
  });
}

async function submitCall(
  c: Context<ApiEnv>,
  parts: CallParts,
  { request, names, hook, isHeld }: JobCall,
  identity: RequestIdentity,
  durability: Durability | undefined,
): Promise<Submission> {
  const caller = c.get('caller');
  try {
    const wanted = typeof request === 'function' ? await request() : request;
    return await submitJob(parts, caller, wanted, identity, {
      hook,
      heldBy: isHeld ? parts.waits.holder : undefined,
      durability,
      inlineAudio: c.get('inlineAudio'),
      span: c.get('span'),
    });
  } catch (error) {
    const replay = await replayOf(parts, caller, identity);
    if (replay) return replay;
    throw names ? inNames(error, names) : error;
  }
}

/** Counts a job that is new. */
export function countJob(
  { metrics, tenantUsage }: Pick<CallParts, 'metrics' | 'tenantUsage'>,
  record: JobRecord,
): void {
  metrics.jobsAccepted.inc(metricLabels(record));
  tenantUsage.count(record);
}

/**
 * Undefined when its worker handed the job back: then it is not counted, because the job that takes its place may be refused. Rejects with
 * `unavailable` when the job is lost with its worker.
 */
async function directJob(
  c: Context<ApiEnv>,
  parts: CallParts,
  submission: Submission,
  { end }: DirectJob,
): Promise<MadeJob | undefined> {
  let isHandedBack = false;
  try {
    const record = await inactive(c, end(c.req.raw.signal));
    isHandedBack = record === undefined;
    if (!record) return undefined;
    const headers = { ...headersOf(submission), [DURABILITY]: 'none' };
    return { record, isNew: true, isStored: false, headers, ...NO_MARKS };
  } finally {
    if (!isHandedBack) countJob(parts, submission.record);
  }
}

const headersOf = ({ how, quota }: Submission): Record<string, string> => ({
  ...(how === 'replay' && { 'idempotency-replayed': 'true' }),
  ...(quota && quotaHeaders(quota)),
  'cache-control': 'private, no-cache',
});

const NO_MARKS = {
  markHeld: async () => {},
  markAnswered: async () => {},
  markUnanswered: async () => {},
};

/** A mark that fails costs at most a second job for the same request, so the request continues without it. */
function trackAnswer(
  c: Context<ApiEnv>,
  { unanswered, log }: CallParts,
  job: JobId,
  duplicate: DuplicateRequest | undefined,
  cancel: boolean,
): Pick<MadeJob, 'markHeld' | 'markAnswered' | 'markUnanswered'> {
  if (!duplicate) {
    return NO_MARKS;
  }
  const logFailure = (mark: Promise<void>): Promise<void> =>
    mark.catch((error) =>
      log.warn({ error: toLehrError(error), job }, 'could not mark whether a request was answered'),
    );
  const { tenant } = c.get('caller');
  const markUnanswered = () =>
    logFailure(unanswered.markUnanswered(duplicate, job, cancel ? { tenant } : {}));
  onLostAnswer(c, markUnanswered);
  return {
    // Sent, and not waited for: the connection keeps the order of the marks, and of the requests that follow in this process. A mark
    // that another process has not seen yet changes only what a request gets that says it is a retry.
    markHeld: async () => {
      void logFailure(unanswered.markHeld(duplicate, job));
    },
    markAnswered: async () => {
      void logFailure(unanswered.markAnswered(duplicate, job));
    },
    markUnanswered,
  };
}

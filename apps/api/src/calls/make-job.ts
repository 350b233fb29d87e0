/** How every dialect has a job made, and what becomes of the job when its request gets no answer. */

import { type JobId, type JobRequest, toLehrError } from '@lehr/shared';
import type { DuplicateRequest } from '@lehr/shared/queue';
import type { JobRecord } from '@lehr/shared/records';
import type { Context } from 'hono';
import type { ApiEnv, ApiParts } from '../api.ts';
import { identify } from '../jobs/identity.ts';
import { metricLabels } from '../jobs/metric-labels.ts';
import { type Submission, submitJob } from '../jobs/submit.ts';
import { quotaHeaders } from '../limits/quota.ts';
import type { Hook } from '../webhooks/hook.ts';
import { onLostAnswer } from './lost-answer.ts';
import { inNames, type Names } from './names.ts';

export interface JobCall {
  /** As in the OpenAPI document, with its method. */
  readonly route: string;
  /** As it was asked; of an upload its fields and a digest. */
  readonly body: unknown;
  readonly request: JobRequest;
  readonly names: Names;
  readonly idempotencyKey?: string | undefined;
  readonly hook?: Hook | undefined;
  /** The caller says that it asks again (see DuplicateRequest). */
  readonly isRetry?: boolean;
  /** See DuplicateRequest. */
  readonly maxHeld?: number;
  /** A job that still waits when its request lost its answer is called off unless somebody comes back for it. */
  readonly cancelIfAbandoned: boolean;
}

export interface MadeJob {
  readonly record: JobRecord;
  /** Made for this very request. */
  readonly isNew: boolean;
  /** For the answer. */
  readonly headers: Readonly<Record<string, string>>;
  /** Its request is held from now on: one that says it is a retry takes the job. */
  held(): Promise<void>;
  /** Its request has its answer: the next one like it is another job. */
  answered(): Promise<void>;
  /** It will have none: the next one like it takes the job. */
  lost(): Promise<void>;
}

/** Throws what submitJob throws, in the names of the wire. */
export async function makeJob(c: Context<ApiEnv>, parts: ApiParts, wish: JobCall): Promise<MadeJob> {
  const { caller } = c.var;
  const { route, body, request, names, hook, cancelIfAbandoned, ...askedAgain } = wish;
  const identity = identify(caller, route, body, askedAgain);
  const submission = await submitJob(parts, caller, request, identity, hook).catch((error) => {
    throw inNames(error, names);
  });
  const { record, how } = submission;
  if (how === 'new') parts.metrics.jobsAccepted.inc(metricLabels(record));
  return {
    record,
    isNew: how === 'new',
    headers: headersOf(submission),
    ...trackAnswer(c, parts, record.id, identity.twin, cancelIfAbandoned),
  };
}

const headersOf = ({ how, quota }: Submission): Record<string, string> => ({
  'cache-control': 'private, no-cache',
  ...(how === 'replay' && { 'idempotency-replayed': 'true' }),
  ...(quota && quotaHeaders(quota)),
});

/** A note that is not taken costs at most a second job, so the request goes on without it. */
function trackAnswer(
  c: Context<ApiEnv>,
  { orphans, log }: ApiParts,
  job: JobId,
  twin: DuplicateRequest | undefined,
  cancel: boolean,
): Pick<MadeJob, 'held' | 'answered' | 'lost'> {
  if (!twin) return { held: async () => {}, answered: async () => {}, lost: async () => {} };
  const noted = (note: Promise<void>): Promise<void> =>
    note.catch((error) =>
      log.warn({ error: toLehrError(error), job }, 'what became of an answer was not noted'),
    );
  const lost = () => noted(orphans.lost(twin, job, { cancel }));
  onLostAnswer(c, lost);
  return {
    held: () => noted(orphans.held(twin, job)),
    answered: () => noted(orphans.answered(twin, job)),
    lost,
  };
}

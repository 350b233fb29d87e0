import { createRoute, z } from '@hono/zod-openapi';
import { JobRequestSchema, JobSchema } from '@lehr/shared';
import type { Api, ApiParts } from '../../api.ts';
import { onLostAnswer } from '../../calls/lost-answer.ts';
import { findJob } from '../../jobs/find.ts';
import { IDEMPOTENCY_HEADER, identify } from '../../jobs/identity.ts';
import { metricLabels } from '../../jobs/metric-labels.ts';
import { etagOf, isOver } from '../../jobs/present.ts';
import { submitJob } from '../../jobs/submit.ts';
import { quotaHeaders } from '../../limits/quota.ts';
import { requires } from '../../middleware/auth.ts';
import { countRefusals } from '../../middleware/count-refusals.ts';
import { guardQuota } from '../../middleware/guard-quota.ts';
import { answerJson } from '../../middleware/own-headers.ts';
import { JOB_REQUESTS, QUEUED_JOB, SUCCEEDED_JOB } from '../examples.ts';
import { BEARER, problemsWithKey } from '../responses.ts';
import { preferredWaitS, WaitQuery } from './params.ts';

const headers = z.object({
  ...IDEMPOTENCY_HEADER,
  prefer: z.string().optional().meta({ description: '`wait=N` holds the answer, as `?wait=N` does.' }),
});

const route = createRoute({
  method: 'post',
  path: '/v1/jobs',
  operationId: 'createJob',
  tags: ['jobs'],
  summary: 'Have a job done',
  description:
    'Answers 202 as soon as the job is stored; from then on it reaches exactly one end. With a wait, the answer is held ' +
    'until the job is over (200) or the time is up (202); the job goes on either way, also when you hang up.',
  security: BEARER,
  request: {
    query: WaitQuery,
    headers,
    body: {
      required: true,
      content: { 'application/json': { schema: JobRequestSchema, examples: JOB_REQUESTS } },
    },
  },
  responses: {
    200: {
      description: 'The job is over.',
      content: { 'application/json': { schema: JobSchema, example: SUCCEEDED_JOB } },
    },
    202: {
      description: 'The job waits or runs; ask again at `Location`.',
      content: { 'application/json': { schema: JobSchema, example: QUEUED_JOB } },
    },
    ...problemsWithKey(
      'invalid-request',
      'model-not-found',
      'too-large',
      'unsupported-media',
      'gone',
      'invalid-input',
      'idempotency-mismatch',
      'rate-limited',
      'overloaded',
    ),
  },
});

export function createJobRoute(app: Api, parts: ApiParts): void {
  const { records, waits, presenter, metrics, orphans, quotas, log } = parts;
  app.on('POST', '/v1/jobs', countRefusals(metrics), requires('submit'), guardQuota(quotas));
  app.openapi(route, async (c) => {
    const caller = c.get('caller');
    const preferredS = preferredWaitS(c.req.valid('header').prefer);
    const waitS = preferredS ?? c.req.valid('query').wait;
    const idempotencyKey = c.req.valid('header')['idempotency-key'];
    const request = c.req.valid('json');
    const identity = identify(caller, 'POST /v1/jobs', request, { idempotencyKey });
    const { record: first, how, quota } = await submitJob(parts, caller, request, identity);
    const { id } = first;
    if (how === 'new') metrics.jobsAccepted.inc(metricLabels(first));
    const { twin } = identity;
    if (twin) {
      onLostAnswer(c, () => {
        orphans.lost(twin, id).catch((error) => log.warn({ error, job: id }, 'a lost answer was not noted'));
      });
    }
    const record = await waits.until({
      id,
      first,
      read: () => findJob(records, caller, id),
      isOver,
      timeoutMs: waitS * 1000,
      signal: () => c.req.raw.signal,
    });
    const headers = {
      location: `/v1/jobs/${id}`,
      etag: etagOf(record),
      'cache-control': 'private, no-cache',
      ...(preferredS !== undefined && { 'preference-applied': `wait=${preferredS}` }),
      ...(how === 'replay' && { 'idempotency-replayed': 'true' }),
      ...(quota && quotaHeaders(quota)),
    };
    const job = await presenter.job(record);
    if (isOver(record)) return answerJson(c, job, 200, headers);
    return answerJson(c, job, 202, { ...headers, 'retry-after': '1' });
  });
}

import { createRoute, z } from '@hono/zod-openapi';
import { JobSchema } from '@lehr/shared';
import { guardQuota, requires } from '../../http/middleware/auth.ts';
import { countRefusals } from '../../http/middleware/observe.ts';
import { answerJson } from '../../http/middleware/own-headers.ts';
import { BEARER, problemsWithKey } from '../../http/responses.ts';
import { findJob } from '../../jobs/find.ts';
import { IDEMPOTENCY_HEADER } from '../../jobs/requests/call-headers.ts';
import { makeJob } from '../../jobs/requests/make-job.ts';
import { retryOf } from '../../jobs/retry.ts';
import type { Api, ApiParts } from '../../parts.ts';
import { QUEUED_JOB, SUCCEEDED_JOB } from '../examples.ts';
import { IdParams } from '../params.ts';

const route = createRoute({
  method: 'post',
  path: '/v1/jobs/{id}/retry',
  operationId: 'retryJob',
  tags: ['jobs'],
  summary: 'Retry a job',
  description:
    'Creates a new job from the input of one that has ended: with the same seed, version of the model, priority, metadata and ' +
    'webhook. `retried_from` of the new job is the earlier one, which does not change. What was sent with the earlier job is ' +
    'copied; when it is no longer stored, the answer is a 410. A job that has not ended, a workflow and a node are a conflict. Takes no body.',
  security: BEARER,
  request: { params: IdParams, headers: z.object(IDEMPOTENCY_HEADER) },
  responses: {
    202: {
      description: 'The new job is queued; its URL is in `Location`.',
      content: {
        'application/json': {
          schema: JobSchema,
          example: { ...QUEUED_JOB, retried_from: SUCCEEDED_JOB.id },
        },
      },
    },
    ...problemsWithKey(
      'invalid-request',
      'model-not-found',
      'not-found',
      'conflict',
      'gone',
      'too-large',
      'invalid-input',
      'idempotency-mismatch',
      'rate-limited',
      'overloaded',
      'storage-failed',
    ),
  },
});

export function retryJobRoute(app: Api, parts: ApiParts): void {
  const { records, presenter, metrics, quotas } = parts;
  app.on('POST', '/v1/jobs/:id/retry', countRefusals(metrics), requires('submit'), guardQuota(quotas));
  app.openapi(route, async (c) => {
    const { id } = c.req.valid('param');
    const { record, headers } = await makeJob(c, parts, {
      route: 'POST /v1/jobs/{id}/retry',
      body: { id },
      request: async () => retryOf(await findJob(records, c.var.caller, id)),
      idempotencyKey: c.req.valid('header')['idempotency-key'],
      cancelIfAbandoned: false,
    });
    const job = await presenter.job(record);
    const etag = presenter.etag(record, job);
    return answerJson(c, job, 202, { location: `/v1/jobs/${record.id}`, etag, ...headers });
  });
}

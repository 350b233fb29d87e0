/** Cancels and deletes jobs. */
import { createRoute } from '@hono/zod-openapi';
import { JobSchema } from '@lehr/shared';
import { requires } from '../../http/middleware/auth.ts';
import { BEARER, problemsWithKey } from '../../http/responses.ts';
import { cancelJob, deleteJob } from '../../jobs/cancel.ts';
import { findJob } from '../../jobs/find.ts';
import { isOver } from '../../jobs/present.ts';
import type { Api, ApiParts } from '../../parts.ts';
import { QUEUED_JOB } from '../examples.ts';
import { IdParams } from '../params.ts';

const canceled = { ...QUEUED_JOB, status: 'canceled' as const, queue: null };

const cancelRoute = createRoute({
  method: 'post',
  path: '/v1/jobs/{id}/cancel',
  operationId: 'cancelJob',
  tags: ['jobs'],
  summary: 'Cancel a job',
  description: 'A queued job ends at once; a running one stops at its next step. Takes no body.',
  security: BEARER,
  middleware: requires('cancel'),
  request: { params: IdParams },
  responses: {
    200: {
      description: 'The job has ended: it is canceled, or had ended before.',
      content: { 'application/json': { schema: JobSchema, example: canceled } },
    },
    202: {
      description: 'The worker that runs the job has been asked to stop it.',
      content: { 'application/json': { schema: JobSchema } },
    },
    ...problemsWithKey('not-found', 'too-large'),
  },
});

const deleteRoute = createRoute({
  method: 'delete',
  path: '/v1/jobs/{id}',
  operationId: 'deleteJob',
  tags: ['jobs'],
  summary: 'Delete a job',
  description:
    'Deletes a job that has ended, with its outputs and what was sent with its request. A job that has not ended, or a workflow with a node that has not ended, is ' +
    'cancelled instead. A node cannot be deleted without its workflow; that is a conflict.',
  security: BEARER,
  middleware: requires('cancel'),
  request: { params: IdParams },
  responses: {
    202: {
      description: 'The job had not ended and is being cancelled; delete it again when it has ended.',
      content: { 'application/json': { schema: JobSchema, example: canceled } },
    },
    204: { description: 'Nothing of the job is left.' },
    ...problemsWithKey('not-found', 'conflict', 'too-large', 'storage-failed'),
  },
});

export function endJobRoutes(app: Api, parts: ApiParts): void {
  const { records, presenter } = parts;

  app.openapi(cancelRoute, async (c) => {
    const { id } = c.req.valid('param');
    const outcome = await cancelJob(parts, await findJob(records, c.var.caller, id));
    const job = await presenter.job(await findJob(records, c.var.caller, id));
    return c.json(job, outcome === 'requested' ? 202 : 200);
  });

  app.openapi(deleteRoute, async (c) => {
    const { id } = c.req.valid('param');
    const record = await findJob(records, c.var.caller, id);
    if (!isOver(record)) await cancelJob(parts, record);
    else if (await deleteJob(parts, record)) return c.body(null, 204);
    return c.json(await presenter.job(await findJob(records, c.var.caller, id)), 202);
  });
}

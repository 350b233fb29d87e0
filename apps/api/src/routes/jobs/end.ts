/** Calling a job off and deleting it. */

import { createRoute } from '@hono/zod-openapi';
import { JobSchema } from '@lehr/shared';
import type { JobRecord } from '@lehr/shared/records';
import type { Api, ApiParts } from '../../api.ts';
import { type CancelOutcome, cancelJob, deleteJob } from '../../jobs/cancel.ts';
import { findJob } from '../../jobs/find.ts';
import { metricLabels } from '../../jobs/metric-labels.ts';
import { isOver } from '../../jobs/present.ts';
import { requires } from '../../middleware/auth.ts';
import { BEARER, problemsWithKey } from '../../responses.ts';
import { QUEUED_JOB } from '../examples.ts';
import { IdParams } from './params.ts';

const canceled = { ...QUEUED_JOB, status: 'canceled' as const, queue: null };

const cancelRoute = createRoute({
  method: 'post',
  path: '/v1/jobs/{id}/cancel',
  operationId: 'cancelJob',
  tags: ['jobs'],
  summary: 'Call a job off',
  description: 'A waiting job ends at once; a running one is stopped at its next step. Takes no body.',
  security: BEARER,
  middleware: requires('cancel'),
  request: { params: IdParams },
  responses: {
    200: {
      description: 'The job is over: canceled now, or ended before.',
      content: { 'application/json': { schema: JobSchema, example: canceled } },
    },
    202: {
      description: 'The worker that runs it has been told.',
      content: { 'application/json': { schema: JobSchema } },
    },
    ...problemsWithKey('not-found'),
  },
});

const deleteRoute = createRoute({
  method: 'delete',
  path: '/v1/jobs/{id}',
  operationId: 'deleteJob',
  tags: ['jobs'],
  summary: 'Forget a job',
  description:
    'Removes a finished job with its outputs. A job that is not over, or has a part that is not, is called off instead. A part of a workflow ' +
    'goes with the whole, and alone is a conflict.',
  security: BEARER,
  middleware: requires('cancel'),
  request: { params: IdParams },
  responses: {
    202: {
      description: 'The job was not over and has been called off; delete it again when it is.',
      content: { 'application/json': { schema: JobSchema, example: canceled } },
    },
    204: { description: 'Record and outputs are gone.' },
    ...problemsWithKey('not-found', 'conflict', 'storage-failed'),
  },
});

export function endJobRoutes(app: Api, parts: ApiParts): void {
  const { records, presenter, metrics } = parts;
  const cancel = async (record: JobRecord): Promise<CancelOutcome> => {
    const outcome = await cancelJob(parts, record);
    if (outcome === 'canceled') metrics.requests.inc({ ...metricLabels(record), outcome: 'canceled' });
    return outcome;
  };

  app.openapi(cancelRoute, async (c) => {
    const { id } = c.req.valid('param');
    const outcome = await cancel(await findJob(records, c.var.caller, id));
    const job = await presenter.job(await findJob(records, c.var.caller, id));
    return c.json(job, outcome === 'requested' ? 202 : 200);
  });

  app.openapi(deleteRoute, async (c) => {
    const { id } = c.req.valid('param');
    const record = await findJob(records, c.var.caller, id);
    if (!isOver(record)) await cancel(record);
    else if (await deleteJob(parts, record)) return c.body(null, 204);
    return c.json(await presenter.job(await findJob(records, c.var.caller, id)), 202);
  });
}

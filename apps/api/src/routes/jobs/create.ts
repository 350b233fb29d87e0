import { createRoute, z } from '@hono/zod-openapi';
import { JobRequestSchema, JobSchema, type Metrics } from '@lehr/shared';
import type { MiddlewareHandler } from 'hono';
import type { Api, ApiEnv, ApiParts } from '../../api.ts';
import { findJob } from '../../jobs/find.ts';
import { etagOf, isOver } from '../../jobs/present.ts';
import { submitJob } from '../../jobs/submit.ts';
import { requires } from '../../middleware/auth.ts';
import { JOB_REQUESTS, QUEUED_JOB, SUCCEEDED_JOB } from '../examples.ts';
import { BEARER, problemsWithKey } from '../responses.ts';
import { preferredWaitS, WaitQuery } from './params.ts';

const headers = z.object({
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
  middleware: requires('submit'),
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
      'invalid-input',
    ),
  },
});

export function createJobRoute(app: Api, parts: ApiParts): void {
  const { records, waits, presenter, metrics } = parts;
  app.on('POST', '/v1/jobs', countRefusals(metrics));
  app.openapi(route, async (c) => {
    const { caller } = c.var;
    const preferredS = preferredWaitS(c.req.valid('header').prefer);
    const waitS = preferredS ?? c.req.valid('query').wait;
    const id = await submitJob(parts, caller, c.req.valid('json'));
    const read = () => findJob(records, caller, id);
    const first = await read();
    const [model, version] = first.model.split('@');
    metrics.jobsAccepted.inc({ model, version });
    const record = await waits.until({
      id,
      first,
      read,
      isOver,
      timeoutMs: waitS * 1000,
      signal: () => c.req.raw.signal,
    });
    if (preferredS !== undefined) c.header('preference-applied', `wait=${preferredS}`);
    c.header('location', `/v1/jobs/${id}`);
    c.header('etag', etagOf(record));
    c.header('cache-control', 'private, no-cache');
    if (isOver(record)) return c.json(await presenter.job(record), 200);
    c.header('retry-after', '1');
    return c.json(await presenter.job(record), 202);
  });
}

/** Requests for a job that became none. Their model may not exist, so it is left out. */
function countRefusals(metrics: Metrics<'api'>): MiddlewareHandler<ApiEnv> {
  return async function countRefusals(c, next) {
    await next();
    if (c.res.status >= 400) metrics.requests.inc({ model: '', version: '', outcome: 'refused' });
  };
}

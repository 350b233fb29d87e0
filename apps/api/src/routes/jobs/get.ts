import { createRoute, z } from '@hono/zod-openapi';
import { JobSchema } from '@lehr/shared';
import type { JobRecord } from '@lehr/shared/records';
import { followByPolling } from '../../follow/event-feed.ts';
import { inactive } from '../../http/fair-admission.ts';
import { requires } from '../../http/middleware/auth.ts';
import { answerJson } from '../../http/middleware/own-headers.ts';
import { BEARER, problemsWithKey } from '../../http/responses.ts';
import { adoptJob, findJob } from '../../jobs/find.ts';
import { isOver } from '../../jobs/present.ts';
import type { Api, ApiParts } from '../../parts.ts';
import { SUCCEEDED_JOB } from '../examples.ts';
import { IdParams, WaitQuery } from '../params.ts';

const headers = z.object({
  'if-none-match': z
    .string()
    .optional()
    .meta({ description: 'The `ETag` you have; the response is 304 if the job still has that version.' }),
});

const route = createRoute({
  method: 'get',
  path: '/v1/jobs/{id}',
  operationId: 'getJob',
  tags: ['jobs'],
  summary: 'Get a job',
  description:
    'With `wait`, the response is held until the job has ended; with `wait` and `If-None-Match`, until the job changes, progress ' +
    'included.',
  security: BEARER,
  middleware: requires('read'),
  request: { params: IdParams, query: WaitQuery, headers },
  responses: {
    200: {
      description: 'The job. `ETag` is the version of what it shows; it changes before the links expire.',
      content: { 'application/json': { schema: JobSchema, example: SUCCEEDED_JOB } },
    },
    304: { description: 'The job still has the version in `If-None-Match`.' },
    ...problemsWithKey('invalid-request', 'not-found'),
  },
});

export function getJobRoute(app: Api, parts: ApiParts): void {
  const { records, waits, pages, presenter } = parts;
  app.openapi(route, async (c) => {
    const caller = c.get('caller');
    const { id } = c.req.valid('param');
    const known = c.req.valid('header')['if-none-match'];
    let isChanged = false;
    const followed = async (record: JobRecord) => {
      followByPolling(parts, record);
      if (known !== undefined)
        isChanged = !matches(known, presenter.etag(record, await pages.job(record, { brief: true })));
      return record;
    };
    const first = await followed(await adoptJob(parts, caller, id));
    const record = await waits.until({
      id: first.id,
      first,
      read: async () => followed(await findJob(records, caller, id)),
      isOver: (each) => isOver(each) || isChanged,
      timeoutMs: c.req.valid('query').wait * 1000,
      inactive: (wait) => inactive(c, wait),
      signal: () => c.req.raw.signal,
    });
    const job = await pages.job(record);
    const headers = { etag: presenter.etag(record, job), 'cache-control': 'private, no-cache' };
    if (known !== undefined && matches(known, headers.etag)) return c.body(null, 304, headers);
    return answerJson(c, job, 200, headers);
  });
}

/** RFC 9110 13.1.2: a list of tags, compared weakly, or `*`. */
const matches = (header: string, etag: string): boolean =>
  header.split(',').some((tag) => tag.trim() === '*' || opaque(tag) === opaque(etag));

const opaque = (tag: string): string => tag.trim().replace(/^W\//, '');

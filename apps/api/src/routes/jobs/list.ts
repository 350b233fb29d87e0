import { createRoute, z } from '@hono/zod-openapi';
import { JobFilterSchema, JobListSchema } from '@lehr/shared';
import type { JobRecord } from '@lehr/shared/records';
import { refusal } from '../../base/field-problems.ts';
import { requires } from '../../http/middleware/auth.ts';
import { answerJson } from '../../http/middleware/own-headers.ts';
import { BEARER, problemsWithKey } from '../../http/responses.ts';
import { listFilterOf } from '../../jobs/job-pages.ts';
import type { Api, JobParts } from '../../parts.ts';
import { SUCCEEDED_JOB } from '../examples.ts';
import { queryNumber } from '../params.ts';

const METADATA = /^metadata\[(.{1,64})\]$/s;

const ListQuery = z
  .object({
    ...JobFilterSchema.shape,
    limit: queryNumber(z.coerce.number().int().min(1).max(100).default(20)),
    metadata: z
      .record(z.string(), z.string())
      .optional()
      .meta({
        description:
          'Labels of the job with their values, as `metadata[order]=81`. With several, the job has all of them.',
        param: { style: 'deepObject', explode: true },
      }),
    cursor: z.string().max(200).optional().meta({ description: '`next_cursor` of the previous page.' }),
  })
  // Of the labels, which are a parameter each; `filterOf` refuses all others.
  .catchall(z.string().max(512));

const route = createRoute({
  method: 'get',
  path: '/v1/jobs',
  operationId: 'listJobs',
  tags: ['jobs'],
  summary: 'List your jobs, newest first',
  description:
    'A cursor stays valid while jobs are created and deleted. Labels, times and states have an index; with another filter that few jobs ' +
    'match, or with jobs of long inputs, a page can be short and still have a next one.',
  security: BEARER,
  middleware: requires('read'),
  request: { query: ListQuery },
  responses: {
    200: {
      description: 'A page. `Link` has the URL of the next one.',
      content: {
        'application/json': {
          schema: JobListSchema,
          example: { data: [SUCCEEDED_JOB], next_cursor: null, has_more: false },
        },
      },
    },
    ...problemsWithKey('invalid-request'),
  },
});

export function listJobsRoute(app: Api, { pages }: JobParts): void {
  app.openapi(route, async (c) => {
    const { presenter } = pages;
    const show = (record: JobRecord) => presenter.job(record, { brief: true });
    const { shown, next } = await pages.page(c.var.caller.tenant, filterOf(c.req.valid('query')), show);
    const query = new URLSearchParams({ ...c.req.query(), cursor: next ?? '' });
    return answerJson(c, { data: shown, next_cursor: next, has_more: next !== null }, 200, {
      'cache-control': 'private, no-cache',
      ...(next !== null && { link: `<${presenter.url(`/v1/jobs?${query}`)}>; rel="next"` }),
    });
  });
}

type Query = z.output<typeof ListQuery>;

/** Throws `invalid-request` for an unknown parameter. */
function filterOf({
  limit,
  cursor,
  status,
  type,
  model,
  text,
  error_code,
  created_after,
  created_before,
  ...others
}: Query) {
  const labels: [string, string][] = [];
  for (const [name, value] of Object.entries(others)) {
    const label = METADATA.exec(name)?.[1];
    if (label === undefined || typeof value !== 'string')
      throw refusal('invalid-request', [{ pointer: `?${name}`, detail: 'is not a known field' }]);
    labels.push([label, value]);
  }
  // A label may have any name, and `__proto__` cannot be assigned.
  const metadata = Object.fromEntries(labels);
  const filter = { status, type, model, text, error_code, metadata, created_after, created_before };
  return { limit, cursor, ...listFilterOf(filter) };
}

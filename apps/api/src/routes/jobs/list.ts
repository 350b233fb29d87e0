import { createRoute, z } from '@hono/zod-openapi';
import { isJobId, type JobId, JobListSchema, JobStateSchema, JobTypeParamSchema } from '@lehr/shared';
import { listJobs } from '@lehr/shared/records';
import type { Api, ApiParts } from '../../api.ts';
import { refusal } from '../../field-problems.ts';
import { requires } from '../../middleware/auth.ts';
import { BEARER, problemsWithKey } from '../../responses.ts';
import { SUCCEEDED_JOB } from '../examples.ts';
import { queryNumber } from '../query-number.ts';

const ListQuery = z.strictObject({
  status: JobStateSchema.optional(),
  type: JobTypeParamSchema.optional(),
  model: z.string().min(1).max(200).optional().meta({ description: '`name` or `name@version`.' }),
  limit: queryNumber(z.coerce.number().int().min(1).max(100).default(20)),
  cursor: z.string().max(200).optional().meta({ description: '`next_cursor` of the previous page.' }),
});

const route = createRoute({
  method: 'get',
  path: '/v1/jobs',
  operationId: 'listJobs',
  tags: ['jobs'],
  summary: 'List your jobs, newest first',
  description:
    'A cursor stays valid while jobs are created and deleted. With a filter that few jobs match, a page can be short and still have a ' +
    'next one.',
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

export function listJobsRoute(app: Api, { redis, keys, records, presenter }: ApiParts): void {
  app.openapi(route, async (c) => {
    const { limit, cursor, ...filter } = c.req.valid('query');
    const after = cursor === undefined ? undefined : decodeCursor(cursor);
    const page = await listJobs(redis, keys, records, c.var.caller.tenant, {
      limit,
      filter,
      ...(after && { cursor: after }),
    });
    const next = page.next === undefined ? null : encodeCursor(page.next);
    if (next !== null) {
      const query = new URLSearchParams({ ...c.req.query(), cursor: next });
      c.header('link', `<${presenter.url(`/v1/jobs?${query}`)}>; rel="next"`);
    }
    c.header('cache-control', 'private, no-cache');
    const data = await Promise.all(page.records.map((record) => presenter.job(record, { brief: true })));
    return c.json({ data, next_cursor: next, has_more: next !== null }, 200);
  });
}

const encodeCursor = (id: JobId): string => Buffer.from(id).toString('base64url');

function decodeCursor(cursor: string): JobId {
  const id = Buffer.from(cursor, 'base64url').toString();
  if (isJobId(id)) return id;
  throw refusal('invalid-request', [{ pointer: '?cursor', detail: 'is not a cursor of this list' }]);
}

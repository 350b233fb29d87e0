import { createRoute, z } from '@hono/zod-openapi';
import { JOB_TYPES, JobListSchema, JobStateSchema } from '@lehr/shared';
import type { JobRecord } from '@lehr/shared/records';
import { requires } from '../../http/middleware/auth.ts';
import { answerJson } from '../../http/middleware/own-headers.ts';
import { BEARER, problemsWithKey } from '../../http/responses.ts';
import type { Api, JobParts } from '../../parts.ts';
import { SUCCEEDED_JOB } from '../examples.ts';
import { queryNumber } from '../params.ts';

const ListQuery = z.strictObject({
  status: JobStateSchema.optional(),
  type: z.enum(JOB_TYPES).optional(),
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
    'A cursor stays valid while jobs are created and deleted. With a filter that few jobs match, or with jobs of long inputs, a page can ' +
    'be short and still have a next one.',
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
    const { shown, next } = await pages.page(c.var.caller.tenant, c.req.valid('query'), show);
    const query = new URLSearchParams({ ...c.req.query(), cursor: next ?? '' });
    return answerJson(c, { data: shown, next_cursor: next, has_more: next !== null }, 200, {
      'cache-control': 'private, no-cache',
      ...(next !== null && { link: `<${presenter.url(`/v1/jobs?${query}`)}>; rel="next"` }),
    });
  });
}

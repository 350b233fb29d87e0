/** The lines of a batch with their jobs, page by page, while it runs and afterwards. */
import { createRoute, z } from '@hono/zod-openapi';
import { BatchLineListSchema } from '@lehr/shared';
import { pageOfLines } from '../batches/lines.ts';
import { requires } from '../http/middleware/auth.ts';
import { BEARER, problemsWithKey } from '../http/responses.ts';
import type { Api, ApiParts } from '../parts.ts';
import { BATCH, SUCCEEDED_JOB } from './examples.ts';
import { queryNumber } from './params.ts';

const route = createRoute({
  method: 'get',
  path: '/v1/batches/{id}/lines',
  operationId: 'listBatchLines',
  tags: ['batches'],
  summary: 'List the lines of a batch',
  description:
    'In the order of the input, each with its job as it is now, also when the job itself is no longer there. A line without a job waits, or ' +
    'has an `error`. Pages can be short and still have a next one.',
  security: BEARER,
  middleware: requires('read'),
  request: {
    params: z.object({ id: z.string().meta({ description: 'The id of the batch.', example: BATCH.id }) }),
    query: z.strictObject({
      limit: queryNumber(z.coerce.number().int().min(1).max(100).default(100)),
      cursor: z.string().max(200).optional().meta({ description: '`next_cursor` of the previous page.' }),
    }),
  },
  responses: {
    200: {
      description: 'A page.',
      content: {
        'application/json': {
          schema: BatchLineListSchema,
          example: {
            data: [{ line: 1, custom_id: 'line-1', values: { seed: 1 }, job: SUCCEEDED_JOB }],
            next_cursor: null,
            has_more: false,
          },
        },
      },
    },
    ...problemsWithKey('invalid-request', 'not-found', 'gone', 'storage-failed'),
  },
});

export function batchLinesRoute(app: Api, parts: ApiParts): void {
  app.openapi(route, async (c) => {
    const batch = await parts.batches.find(c.var.caller.tenant, c.req.valid('param').id);
    const { limit, cursor } = c.req.valid('query');
    const { lines, next } = await pageOfLines(parts, batch, limit, cursor);
    return c.json({ data: [...lines], next_cursor: next ?? null, has_more: next !== undefined }, 200);
  });
}

/** Batches: one object on one path, for OpenAI's clients and for native ones. */
import { createRoute, z } from '@hono/zod-openapi';
import {
  BatchEstimateSchema,
  BatchListSchema,
  BatchRequestSchema,
  BatchSchema,
  LehrError,
} from '@lehr/shared';
import { isEnded } from '../batches/batch-store.ts';
import { createBatch, retryBatch } from '../batches/create-batch.ts';
import { presentBatch } from '../batches/present-batch.ts';
import { openZip } from '../batches/zip.ts';
import { guardRate, requires } from '../http/middleware/auth.ts';
import { BEARER, problemsWithKey } from '../http/responses.ts';
import type { Api, ApiParts } from '../parts.ts';
import { BATCH, BATCH_REQUESTS } from './examples.ts';
import { queryNumber } from './params.ts';

const IdParams = z.object({
  id: z.string().meta({ description: 'The id of the batch.', example: BATCH.id }),
});
const shared = { tags: ['batches'], security: BEARER };
const shown = (description: string) => ({
  description,
  content: { 'application/json': { schema: BatchSchema, example: BATCH } },
});
const BODY_PROBLEMS = ['invalid-request', 'too-large', 'unsupported-media', 'invalid-input'] as const;

const createBatchRoute = createRoute({
  ...shared,
  method: 'post',
  path: '/v1/batches',
  operationId: 'createBatch',
  summary: 'Create a batch',
  description:
    'Its jobs are made a few hundred at a time, as the limits of the key and the fleet allow, and their answers are collected in a file. ' +
    'A line that is refused does not stop the others.',
  middleware: requires('submit'),
  request: {
    body: {
      required: true,
      content: { 'application/json': { schema: BatchRequestSchema, examples: BATCH_REQUESTS } },
    },
  },
  responses: {
    200: {
      description:
        'The batch. The number of its jobs is known at once, except of a file, whose lines are read first. With `dry_run`, the estimate.',
      content: {
        'application/json': { schema: z.union([BatchSchema, BatchEstimateSchema]), example: BATCH },
      },
    },
    ...problemsWithKey('not-found', 'gone', ...BODY_PROBLEMS, 'rate-limited', 'storage-failed'),
  },
});

const listRoute = createRoute({
  ...shared,
  method: 'get',
  path: '/v1/batches',
  operationId: 'listBatches',
  summary: 'List your batches, newest first',
  middleware: requires('read'),
  request: {
    query: z.strictObject({
      limit: queryNumber(z.coerce.number().int().min(1).max(100).default(20)),
      after: z.string().max(200).optional().meta({ description: '`last_id` of the previous page.' }),
    }),
  },
  responses: {
    200: {
      description: 'A page.',
      content: {
        'application/json': {
          schema: BatchListSchema,
          example: { object: 'list', data: [BATCH], first_id: BATCH.id, last_id: BATCH.id, has_more: false },
        },
      },
    },
    ...problemsWithKey('invalid-request'),
  },
});

const getRoute = createRoute({
  ...shared,
  method: 'get',
  path: '/v1/batches/{id}',
  operationId: 'getBatch',
  summary: 'Get a batch',
  middleware: requires('read'),
  request: { params: IdParams },
  responses: { 200: shown('The batch, with its counts so far.'), ...problemsWithKey('not-found') },
});

const zipRoute = createRoute({
  ...shared,
  method: 'get',
  path: '/v1/batches/{id}/results.zip',
  operationId: 'getBatchZip',
  summary: 'Download the results of a batch as a zip',
  description:
    'Every output as a file, named after its line, and the lines of the output and error files as `results.jsonl` and `errors.jsonl`. ' +
    'Outputs that have been deleted are named in `missing.txt`.',
  middleware: requires('read'),
  request: { params: IdParams },
  responses: {
    200: {
      description: 'The zip, which is written while it is read. Its files are not compressed.',
      content: { 'application/zip': { schema: z.string().meta({ format: 'binary' }) } },
    },
    ...problemsWithKey('not-found', 'conflict', 'gone', 'storage-failed'),
  },
});

const cancelRoute = createRoute({
  ...shared,
  method: 'post',
  path: '/v1/batches/{id}/cancel',
  operationId: 'cancelBatch',
  summary: 'Cancel a batch',
  description:
    'No more jobs are made, and those that have not ended are cancelled. What is done is given out. Takes no body.',
  middleware: requires('cancel'),
  request: { params: IdParams },
  responses: {
    200: shown('The batch, which is `cancelling` until its last job has ended.'),
    ...problemsWithKey('not-found', 'too-large'),
  },
});

const retryRoute = createRoute({
  ...shared,
  method: 'post',
  path: '/v1/batches/{id}/retry',
  operationId: 'retryBatch',
  summary: 'Repeat what failed',
  description: 'Makes a new batch of the lines of this one that did not succeed. Takes no body.',
  middleware: requires('submit'),
  request: { params: IdParams },
  responses: {
    200: shown('The new batch.'),
    ...problemsWithKey('not-found', 'conflict', 'too-large', 'rate-limited', 'storage-failed'),
  },
});

export function batchRoutes(app: Api, parts: ApiParts): void {
  const { batches, quotas } = parts;

  app.on('POST', '/v1/batches', guardRate(quotas));
  app.openapi(createBatchRoute, async (c) =>
    c.json(await createBatch(parts, c.var.caller, c.req.valid('json')), 200),
  );

  app.openapi(listRoute, async (c) => {
    const { limit, after } = c.req.valid('query');
    const page = await parts.batchReads.page(c.var.caller.tenant, limit, after);
    const data = page.batches.map(presentBatch);
    const ends = { first_id: data.at(0)?.id ?? null, last_id: data.at(-1)?.id ?? null };
    return c.json({ object: 'list' as const, data, ...ends, has_more: page.hasMore }, 200);
  });

  app.openapi(getRoute, async (c) =>
    c.json(presentBatch(await batches.find(c.var.caller.tenant, c.req.valid('param').id)), 200),
  );

  app.openapi(zipRoute, async (c) => {
    const batch = await batches.find(c.var.caller.tenant, c.req.valid('param').id);
    if (!isEnded(batch)) throw new LehrError('conflict', 'The batch has not ended.');
    return c.body(await openZip(parts, batch), 200, {
      'content-type': 'application/zip',
      'content-disposition': `attachment; filename="${batch.id}.zip"`,
      'cache-control': 'private, no-store',
    }) as never;
  });

  app.openapi(cancelRoute, async (c) => {
    const { tenant } = c.var.caller;
    const { id } = await batches.find(tenant, c.req.valid('param').id);
    await batches.end(id, 'cancelled', { cancelling_at: await batches.now() });
    return c.json(presentBatch(await batches.find(tenant, id)), 200);
  });

  app.openapi(retryRoute, async (c) =>
    c.json(await retryBatch(parts, c.var.caller, c.req.valid('param').id), 200),
  );
}

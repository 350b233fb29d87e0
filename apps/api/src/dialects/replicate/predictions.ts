/** Get, list and cancel predictions. They have no quota: the published clients give up a prediction when a poll is refused. */
import { createRoute, z } from '@hono/zod-openapi';
import { followByPolling } from '../../follow/event-feed.ts';
import { requires } from '../../http/middleware/auth.ts';
import { answerJson } from '../../http/middleware/own-headers.ts';
import { BEARER, problemsWithKey } from '../../http/responses.ts';
import { cancelJob } from '../../jobs/cancel.ts';
import { adoptJob, findJob } from '../../jobs/find.ts';
import type { Api, ApiParts } from '../../parts.ts';
import { PredictionListSchema, PredictionSchema } from './prediction-contract.ts';
import { jobIdOf, PredictionsView } from './predictions-view.ts';

const PAGE = 100;

const params = z.object({ id: z.string().meta({ example: '01jd3v9s6w0000000000000000' }) });
const prediction = (description: string) => ({
  200: { description, content: { 'application/json': { schema: PredictionSchema } } },
});
const shared = { tags: ['replicate'], security: BEARER };

const getRoute = createRoute({
  ...shared,
  method: 'get',
  path: '/v1/predictions/{id}',
  operationId: 'getPrediction',
  summary: 'Get a prediction',
  middleware: requires('read'),
  request: { params },
  responses: { ...prediction('The prediction, with freshly signed links.'), ...problemsWithKey('not-found') },
});

const cancelRoute = createRoute({
  ...shared,
  method: 'post',
  path: '/v1/predictions/{id}/cancel',
  operationId: 'cancelPrediction',
  summary: 'Cancel a prediction',
  description: 'Takes no body. A running prediction stops at its next step; one that is over is not changed.',
  middleware: requires('cancel'),
  request: { params },
  responses: {
    ...prediction('The prediction as it is now.'),
    ...problemsWithKey('not-found', 'too-large'),
  },
});

const listRoute = createRoute({
  ...shared,
  method: 'get',
  path: '/v1/predictions',
  operationId: 'listPredictions',
  summary: 'List your predictions, newest first',
  description: 'All your jobs, made by any route, at most a hundred per page, and fewer with long inputs.',
  middleware: requires('read'),
  request: {
    query: z.object({
      cursor: z.string().max(200).optional().meta({ description: 'From `next` of a page.' }),
    }),
  },
  responses: {
    200: { description: 'A page.', content: { 'application/json': { schema: PredictionListSchema } } },
    ...problemsWithKey('invalid-request'),
  },
});

const PRIVATE = { 'cache-control': 'private, no-cache' };

export function predictionRoutes(app: Api, parts: ApiParts): void {
  const { records, pages } = parts;
  const view = new PredictionsView(parts);

  app.openapi(getRoute, async (c) => {
    const record = await adoptJob(parts, c.var.caller, jobIdOf(c.req.valid('param').id));
    followByPolling(parts, record);
    return answerJson(c, await view.of(record), 200, PRIVATE);
  });

  app.openapi(cancelRoute, async (c) => {
    const id = jobIdOf(c.req.valid('param').id);
    const record = await findJob(records, c.var.caller, id);
    await cancelJob(parts, record);
    return answerJson(c, await view.of(await findJob(records, c.var.caller, id)), 200, PRIVATE);
  });

  app.openapi(listRoute, async (c) => {
    const listView = new PredictionsView({ ...parts, presenter: pages.presenter });
    const { shown, next } = await pages.page(
      c.var.caller.tenant,
      { limit: PAGE, cursor: c.req.valid('query').cursor },
      (record) => listView.of(record, { brief: true }),
    );
    // An absolute link, because clients resolve relative ones against a base that ends in /v1.
    const link = next === null ? null : pages.presenter.url(`/v1/predictions?cursor=${next}`);
    return answerJson(c, { results: shown, next: link, previous: null }, 200, PRIVATE);
  });
}

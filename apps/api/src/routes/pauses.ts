/** Pauses of models; require the scope `admin`. */
import { createRoute } from '@hono/zod-openapi';
import {
  EVERYTHING,
  LehrError,
  type Pause,
  PauseListSchema,
  PauseParamsSchema,
  PauseRequestSchema,
  PauseSchema,
  type Registry,
} from '@lehr/shared';
import { actorOf, requires } from '../http/middleware/auth.ts';
import { BEARER, problemsWithKey } from '../http/responses.ts';
import type { Api, ApiParts } from '../parts.ts';

const PAUSE: Pause = {
  object: 'pause',
  model: 'sd',
  submissions: 'accepted',
  now: false,
  reason: 'new driver',
  at: '2026-11-29T22:00:00.000Z',
  by: 'root',
};

const shared = { tags: ['queues'], security: BEARER, middleware: requires('admin') };

const listRoute = createRoute({
  ...shared,
  method: 'get',
  path: '/v1/pauses',
  operationId: 'listPauses',
  summary: 'List what is paused',
  responses: {
    200: {
      description: 'All pauses.',
      content: {
        'application/json': { schema: PauseListSchema, example: { object: 'list', data: [PAUSE] } },
      },
    },
    ...problemsWithKey(),
  },
});

const setRoute = createRoute({
  ...shared,
  method: 'put',
  path: '/v1/pauses/{model}',
  operationId: 'pauseModel',
  summary: 'Pause a model, a version, or all',
  description:
    'From this answer on no worker claims a job of it. Jobs that run end, or go back to their queues with `now`. Waiting jobs keep their ' +
    'places and their deadlines. Whether new jobs are refused takes effect on every API process within two seconds.',
  request: {
    params: PauseParamsSchema,
    body: {
      required: true,
      content: {
        'application/json': {
          schema: PauseRequestSchema,
          example: { submissions: 'accepted', reason: 'new driver' },
        },
      },
    },
  },
  responses: {
    200: {
      description: 'The pause.',
      content: { 'application/json': { schema: PauseSchema, example: PAUSE } },
    },
    ...problemsWithKey(
      'model-not-found',
      'invalid-request',
      'too-large',
      'unsupported-media',
      'invalid-input',
    ),
  },
});

const endRoute = createRoute({
  ...shared,
  method: 'delete',
  path: '/v1/pauses/{model}',
  operationId: 'resumeModel',
  summary: 'Resume what was paused',
  description: 'Pauses are counted apart: a version stays paused while its model, or everything, is.',
  request: { params: PauseParamsSchema },
  responses: {
    204: { description: 'This pause is over.' },
    ...problemsWithKey('not-found', 'invalid-request', 'too-large'),
  },
});

export function pauseRoutes(app: Api, { pauses, registry }: ApiParts): void {
  app.openapi(listRoute, async (c) => {
    c.header('cache-control', 'private, no-cache');
    return c.json({ object: 'list' as const, data: [...(await pauses.list())] }, 200);
  });

  app.openapi(setRoute, async (c) => {
    const { model } = c.req.valid('param');
    checkKnown(registry, model);
    return c.json(await pauses.set(model, c.req.valid('json'), actorOf(c)), 200);
  });

  app.openapi(endRoute, async (c) => {
    await pauses.end(c.req.valid('param').model, actorOf(c));
    return c.body(null, 204);
  });
}

/** Throws `model-not-found`: a pause of a misspelt name would stop nothing. */
function checkKnown({ models }: Registry, target: string): void {
  const [name, version] = target.split('@');
  const isKnown = models.some(
    (each) =>
      each.name === name &&
      (version === undefined || each.versions.some((offered) => offered.version === version)),
  );
  if (target === EVERYTHING || isKnown) return;
  throw new LehrError('model-not-found', `There is no model ${JSON.stringify(target)} to pause.`);
}

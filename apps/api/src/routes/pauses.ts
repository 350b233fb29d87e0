/** Pauses of models and tenants; require the scope `admin`. */
import { createRoute } from '@hono/zod-openapi';
import {
  EVERYTHING,
  LehrError,
  type Pause,
  PauseListSchema,
  PauseParamsSchema,
  PauseRequestSchema,
  PauseSchema,
  type TenantId,
  tenantOf,
} from '@lehr/shared';
import { actorOf, requires } from '../http/middleware/auth.ts';
import { BEARER, problemsWithKey } from '../http/responses.ts';
import type { Api, ApiParts } from '../parts.ts';

const PAUSE: Pause = {
  object: 'pause',
  model: 'sd',
  tenant: null,
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
  path: '/v1/pauses/{target}',
  operationId: 'pauseModel',
  summary: 'Pause a model, a version, a tenant, or all',
  description:
    'From this answer on no worker claims a job of it. Jobs that run end, or go back to their queues with `now`. Waiting jobs keep their ' +
    'places and their deadlines; those of a tenant step aside when a worker comes to them, and get new places when it is resumed. Whether new jobs are refused takes effect on every API process within two seconds.',
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
      'not-found',
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
  path: '/v1/pauses/{target}',
  operationId: 'resumeModel',
  summary: 'Resume what was paused',
  description: 'Pauses are counted apart: a version stays paused while its model, or everything, is.',
  request: { params: PauseParamsSchema },
  responses: {
    204: { description: 'This pause is over.' },
    ...problemsWithKey('not-found', 'invalid-request', 'too-large'),
  },
});

export function pauseRoutes(app: Api, parts: ApiParts): void {
  const { pauses } = parts;
  app.openapi(listRoute, async (c) => {
    c.header('cache-control', 'private, no-cache');
    return c.json({ object: 'list' as const, data: [...(await pauses.list())] }, 200);
  });

  app.openapi(setRoute, async (c) => {
    const { target } = c.req.valid('param');
    await checkKnown(parts, target);
    return c.json(await pauses.set(target, c.req.valid('json'), actorOf(c)), 200);
  });

  app.openapi(endRoute, async (c) => {
    await pauses.end(c.req.valid('param').target, actorOf(c));
    return c.body(null, 204);
  });
}

/** Throws `model-not-found` or `not-found`: a pause of a misspelt name would stop nothing. */
async function checkKnown({ registry, keyStore, redis, keys }: ApiParts, target: string): Promise<void> {
  const tenant = tenantOf(target);
  if (tenant !== undefined) {
    if ((await keyStore.list()).some((key) => key.tenant === tenant)) return;
    if ((await redis.zcard(keys.liveOf(tenant as TenantId))) > 0) return;
    throw new LehrError(
      'not-found',
      `The tenant ${JSON.stringify(tenant)} has neither a key nor an unfinished job.`,
    );
  }
  const [name, version] = target.split('@');
  const isKnown = registry.models.some(
    (each) =>
      each.name === name &&
      (version === undefined || each.versions.some((offered) => offered.version === version)),
  );
  if (target === EVERYTHING || isKnown) return;
  throw new LehrError('model-not-found', `There is no model ${JSON.stringify(target)} to pause.`);
}

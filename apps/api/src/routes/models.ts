import { createRoute, z } from '@hono/zod-openapi';
import { LehrError, ModelSchema } from '@lehr/shared';
import { requires } from '../http/middleware/auth.ts';
import { BEARER, problemsWithKey } from '../http/responses.ts';
import { presentModel } from '../jobs/present-model.ts';
import type { Api, ApiParts } from '../parts.ts';

const route = createRoute({
  method: 'get',
  path: '/v1/models/{id}',
  operationId: 'getModel',
  tags: ['models'],
  summary: 'Get a model',
  security: BEARER,
  middleware: requires('read'),
  request: { params: z.object({ id: z.string().meta({ example: 'tiny-diffusion' }) }) },
  responses: {
    200: { description: 'The model.', content: { 'application/json': { schema: ModelSchema } } },
    ...problemsWithKey('model-not-found'),
  },
});

export function modelRoute(app: Api, { registry, fleet }: ApiParts): void {
  app.openapi(route, async (c) => {
    const entry = registry.named(c.req.valid('param').id);
    if (!entry) throw new LehrError('model-not-found', 'There is no such model.');
    return c.json(presentModel(entry, registry.changedAtS, await fleet.workers().catch(() => [])), 200);
  });
}

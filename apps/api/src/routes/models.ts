import { createRoute, z } from '@hono/zod-openapi';
import { LehrError, type Model, type ModelEntry, ModelListSchema, ModelSchema } from '@lehr/shared';
import type { Api, ApiParts } from '../api.ts';
import { requires } from '../middleware/auth.ts';
import { BEARER, problemsWithKey } from '../responses.ts';

const listRoute = createRoute({
  method: 'get',
  path: '/v1/models',
  operationId: 'listModels',
  tags: ['models'],
  summary: 'List the models',
  description: 'The same list twice: `data` for OpenAI clients, `results` for Replicate clients.',
  security: BEARER,
  middleware: requires('read'),
  responses: {
    200: { description: 'All models.', content: { 'application/json': { schema: ModelListSchema } } },
    ...problemsWithKey(),
  },
});

const getRoute = createRoute({
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

export function modelRoutes(app: Api, { registry, registryChangedAtS }: ApiParts): void {
  const models = registry.models.map((entry) => present(entry, registryChangedAtS));
  const results = models.map(({ id }) => ({
    owner: 'lehr' as const,
    name: id,
    visibility: 'private' as const,
    run_count: 0,
  }));
  const list = { object: 'list' as const, data: models, results, next: null, previous: null };

  app.openapi(listRoute, (c) => c.json(list, 200));

  app.openapi(getRoute, (c) => {
    const model = models.find(({ id }) => id === c.req.valid('param').id);
    if (!model) throw new LehrError('model-not-found', 'There is no such model.');
    return c.json(model, 200);
  });
}

function present(entry: ModelEntry, created: number): Model {
  const model = {
    id: entry.name,
    object: 'model' as const,
    created,
    owned_by: 'lehr' as const,
    default: entry.default,
    versions: entry.versions.map(({ version, weight }) => ({ version, weight })),
  };
  if (entry.task === 'whisper') return { ...model, task: 'speech-to-text', limits: entry.limits };
  const { defaults, limits, samplers } = entry;
  return { ...model, task: 'text-to-image', defaults, limits, samplers };
}

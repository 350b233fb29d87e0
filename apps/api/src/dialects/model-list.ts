/** GET /v1/models: clients of OpenAI and Replicate ask the same path, so one answer has both lists. */
import { createRoute, z } from '@hono/zod-openapi';
import { ModelSchema, type Registry, type WorkerStatus } from '@lehr/shared';
import { requires } from '../http/middleware/auth.ts';
import { BEARER, problemsWithKey } from '../http/responses.ts';
import { presentModel } from '../jobs/present-model.ts';
import type { Api, ApiParts } from '../parts.ts';
import { ReplicateModelSchema, ReplicateModels } from './replicate/model-view.ts';

export const ModelListSchema = z
  .object({
    object: z.literal('list'),
    data: z.array(ModelSchema),
    results: z.array(ReplicateModelSchema),
    next: z.null(),
    previous: z.null(),
  })
  .meta({ id: 'ModelList' });

const route = createRoute({
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

const NO_WORKERS: readonly WorkerStatus[] = [];

export function modelListRoute(app: Api, parts: ApiParts): void {
  const { registry, fleet } = parts;
  const models = new ReplicateModels(parts);
  /** Made again when models.yaml has changed or the fleet was read again. */
  let list:
    | { of: Registry['models']; workers: readonly WorkerStatus[]; value: z.output<typeof ModelListSchema> }
    | undefined;
  app.openapi(route, async (c) => {
    // The list of models is answered without Redis too.
    const workers = await fleet.workers().catch(() => NO_WORKERS);
    if (list?.of !== registry.models || list.workers !== workers) {
      const data = registry.models.map((entry) => presentModel(entry, registry.changedAtS, workers));
      const value = { object: 'list' as const, data, results: models.list(), next: null, previous: null };
      list = { of: registry.models, workers, value };
    }
    return c.json(list.value, 200);
  });
}

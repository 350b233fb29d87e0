/** GET /v1/models/{owner}/{name}: a model by its Replicate name. */
import { createRoute, z } from '@hono/zod-openapi';
import { formatModelRef, LehrError } from '@lehr/shared';
import type { Api, ApiParts } from '../../api.ts';
import { requires } from '../../middleware/auth.ts';
import { BEARER, problemsWithKey } from '../../responses.ts';
import { OWNER } from './wanted-model.ts';

const ModelSchema = z
  .object({
    url: z.url(),
    owner: z.literal(OWNER),
    name: z.string(),
    visibility: z.literal('private'),
    run_count: z.int(),
    latest_version: z.object({ id: z.string(), created_at: z.iso.datetime() }),
  })
  .meta({ id: 'ReplicateModel' });

const route = createRoute({
  method: 'get',
  path: '/v1/models/{owner}/{name}',
  operationId: 'getReplicateModel',
  tags: ['replicate'],
  summary: 'Get a model by its Replicate name',
  security: BEARER,
  middleware: requires('read'),
  request: {
    params: z.object({
      owner: z.string().meta({ example: OWNER }),
      name: z.string().meta({ example: 'tiny-diffusion' }),
    }),
  },
  responses: {
    200: {
      description: 'The model; `latest_version` is the last version listed in models.yaml.',
      content: { 'application/json': { schema: ModelSchema } },
    },
    ...problemsWithKey('model-not-found'),
  },
});

export function replicateModelRoute(app: Api, { registry, registryChangedAtS, presenter }: ApiParts): void {
  app.openapi(route, (c) => {
    const { owner, name } = c.req.valid('param');
    const model = owner === OWNER ? registry.models.find((each) => each.name === name) : undefined;
    const latest = model?.versions.at(-1);
    if (!model || !latest) throw new LehrError('model-not-found', 'There is no such model.');
    return c.json(
      {
        url: presenter.url(`/v1/models/${OWNER}/${name}`),
        owner: OWNER,
        name,
        visibility: 'private' as const,
        run_count: 0,
        latest_version: {
          id: formatModelRef({ name, version: latest.version }),
          created_at: new Date(registryChangedAtS * 1000).toISOString(),
        },
      },
      200,
    );
  });
}

/** A model by its Replicate name, and its versions. */
import { createRoute, z } from '@hono/zod-openapi';
import { requires } from '../../http/middleware/auth.ts';
import { BEARER, problemsWithKey } from '../../http/responses.ts';
import type { Api, ApiParts } from '../../parts.ts';
import {
  ReplicateModelSchema,
  ReplicateModels,
  ReplicateVersionListSchema,
  ReplicateVersionSchema,
} from './model-view.ts';
import { OWNER } from './wanted-model.ts';

const names = {
  owner: z.string().meta({ example: OWNER }),
  name: z.string().meta({ example: 'tiny-diffusion' }),
};
const shared = {
  method: 'get' as const,
  tags: ['replicate'],
  security: BEARER,
  middleware: requires('read'),
};
const shown = <Schema extends z.ZodType>(description: string, schema: Schema) => ({
  description,
  content: { 'application/json': { schema } },
});

const modelRoute = createRoute({
  ...shared,
  path: '/v1/models/{owner}/{name}',
  operationId: 'getReplicateModel',
  summary: 'Get a model by its Replicate name',
  request: { params: z.object(names) },
  responses: {
    200: shown(
      'The model; `latest_version` is the last version listed in models.yaml.',
      ReplicateModelSchema,
    ),
    ...problemsWithKey('model-not-found'),
  },
});

const versionsRoute = createRoute({
  ...shared,
  path: '/v1/models/{owner}/{name}/versions',
  operationId: 'listReplicateVersions',
  summary: 'List the versions of a model',
  request: { params: z.object(names) },
  responses: {
    200: shown('All versions, the latest first.', ReplicateVersionListSchema),
    ...problemsWithKey('model-not-found'),
  },
});

const versionRoute = createRoute({
  ...shared,
  path: '/v1/models/{owner}/{name}/versions/{version}',
  operationId: 'getReplicateVersion',
  summary: 'Get a version of a model',
  request: {
    params: z.object({
      ...names,
      version: z.string().meta({ description: 'Its id, or the version alone.', example: 'tiny-diffusion@1' }),
    }),
  },
  responses: { 200: shown('The version.', ReplicateVersionSchema), ...problemsWithKey('model-not-found') },
});

export function replicateModelRoutes(app: Api, parts: ApiParts): void {
  const models = new ReplicateModels(parts);

  app.openapi(modelRoute, (c) => {
    const { owner, name } = c.req.valid('param');
    return c.json(models.get(owner, name), 200);
  });

  app.openapi(versionsRoute, (c) => {
    const { owner, name } = c.req.valid('param');
    return c.json({ results: models.versions(owner, name), next: null, previous: null }, 200);
  });

  app.openapi(versionRoute, (c) => {
    const { owner, name, version } = c.req.valid('param');
    return c.json(models.version(owner, name, version), 200);
  });
}

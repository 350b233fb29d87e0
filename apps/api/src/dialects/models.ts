/** The models: the list, and one of them. Clients of OpenAI and Replicate ask the same path for the list, so one answer has both lists. */
import { createRoute, z } from '@hono/zod-openapi';
import {
  type DiffusionModelEntry,
  formatModelRef,
  LehrError,
  type Model,
  type ModelEntry,
  ModelSchema,
  type Registry,
  type WorkerStatus,
} from '@lehr/shared';
import { fleetIndex } from '../fleet/fleet-index.ts';
import { requires } from '../http/middleware/auth.ts';
import { BEARER, problemsWithKey } from '../http/responses.ts';
import type { Api, ApiParts, CoreParts } from '../parts.ts';
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

/** Models are shown without Redis too. */
const NO_WORKERS: readonly WorkerStatus[] = [];

export function modelListRoute(app: Api, parts: ApiParts): void {
  const { registry, fleet } = parts;
  const models = new ReplicateModels(parts);
  /** Made again when models.yaml has changed or the fleet was read again. */
  let list:
    | { of: Registry['models']; workers: readonly WorkerStatus[]; value: z.output<typeof ModelListSchema> }
    | undefined;
  app.openapi(listRoute, async (c) => {
    const workers = await fleet.workers().catch(() => NO_WORKERS);
    if (list?.of !== registry.models || list.workers !== workers) {
      const data = registry.models.map((entry) => presentModel(entry, registry.changedAtS, workers));
      const value = { object: 'list' as const, data, results: models.list(), next: null, previous: null };
      list = { of: registry.models, workers, value };
    }
    return c.json(list.value, 200);
  });
}

export function modelRoute(app: Api, { registry, fleet }: CoreParts): void {
  app.openapi(getRoute, async (c) => {
    const entry = registry.named(c.req.valid('param').id);
    if (!entry) throw new LehrError('model-not-found', 'There is no such model.');
    const workers = await fleet.workers().catch(() => NO_WORKERS);
    return c.json(presentModel(entry, registry.changedAtS, workers), 200);
  });
}

/** `created`: Unix seconds. `fleet`: one reading of it; empty when it cannot be read. */
function presentModel(entry: ModelEntry, created: number, fleet: readonly WorkerStatus[]): Model {
  const model = {
    id: entry.name,
    aliases: entry.aliases,
    object: 'model' as const,
    created,
    owned_by: 'lehr' as const,
    ...(entry.description !== undefined && { description: entry.description }),
    default: entry.default,
    versions: entry.versions.map(({ version, weight }) => ({ version, weight })),
  };
  if (entry.task === 'whisper') return { ...model, task: 'speech-to-text', limits: entry.limits };
  if (entry.task === 'text') {
    return { ...model, task: 'text', tasks: entry.tasks, limits: entry.limits };
  }
  if (entry.task === 'transform') {
    const { result, scale, limits } = entry;
    return { ...model, task: 'picture-transform', result, scale, limits };
  }
  const { family, defaults, samplers } = entry;
  const adapters = entry.adapters.map(presentAdapter);
  const controls = entry.controls.map(presentControl);
  const tokens = maxPromptTokens(entry, fleet);
  const limits = { ...entry.limits, ...(tokens !== undefined && { max_prompt_tokens: tokens }) };
  return { ...model, task: 'text-to-image', family, defaults, limits, samplers, adapters, controls };
}

/** Where its file is, callers need not know. */
const presentAdapter = ({ name, trigger, scale, description }: DiffusionModelEntry['adapters'][number]) => ({
  name,
  trigger,
  scale,
  ...(description !== undefined && { description }),
});

const presentControl = ({ name, preprocess, description }: DiffusionModelEntry['controls'][number]) => ({
  name,
  preprocess,
  ...(description !== undefined && { description }),
});

/** The smallest of the versions that are open: the caller may get any of them. */
function maxPromptTokens({ name, versions }: ModelEntry, fleet: readonly WorkerStatus[]): number | undefined {
  const known = versions.flatMap(
    ({ version }) => fleetIndex(fleet).maxPromptTokens(formatModelRef({ name, version })) ?? [],
  );
  return known.length > 0 ? Math.min(...known) : undefined;
}

/** What clients of the extension sd-webui-controlnet ask before they draw, under /controlnet. */
import { createRoute, z } from '@hono/zod-openapi';
import { companionRef, isPlainPreprocess, PLAIN_PREPROCESSES, type Registry } from '@lehr/shared';
import { requires } from '../../http/middleware/auth.ts';
import { answerJson } from '../../http/middleware/own-headers.ts';
import { BEARER_OR_BASIC } from '../../http/responses.ts';
import type { Api, CoreParts } from '../../parts.ts';
import { plainErrors } from './errors.ts';
import { pictureModels } from './options.ts';

/** Of the extension's API, in which units are in `alwayson_scripts`. */
const API_VERSION = 2;

const VersionSchema = z.object({ version: z.int() }).meta({ id: 'WebUiControlVersion' });

const ControlModelsSchema = z
  .object({ model_list: z.array(z.string()).meta({ description: 'ControlNets that some model has.' }) })
  .meta({ id: 'WebUiControlModels' });

const ControlModulesSchema = z
  .object({
    module_list: z.array(z.string()),
    module_detail: z.record(
      z.string(),
      z.object({ model_free: z.boolean(), sliders: z.array(z.unknown()).max(0) }),
    ),
  })
  .meta({ id: 'WebUiControlModules' });

const controlsIn = (registry: Registry) => pictureModels(registry).flatMap(({ controls }) => controls);

const controlNames = (registry: Registry): string[] => [
  ...new Set(controlsIn(registry).map(({ name }) => name)),
];

/** What makes a control picture: what needs no model, and the models that ControlNets of models.yaml name. */
function controlModules(registry: Registry): z.output<typeof ControlModulesSchema> {
  const models = controlsIn(registry)
    .map(({ preprocess }) => preprocess)
    .filter((preprocess) => !isPlainPreprocess(preprocess))
    .map((preprocess) => companionRef(registry, preprocess).name);
  const names = [...new Set([...PLAIN_PREPROCESSES, ...models])];
  return {
    module_list: names,
    module_detail: Object.fromEntries(names.map((name) => [name, { model_free: false, sliders: [] }])),
  };
}

/** By the ends of their paths: the operation, the schema, and what to answer. */
const LISTS = {
  version: [
    'webUiControlVersion',
    VersionSchema,
    'The version of the API for ControlNets',
    () => ({ version: API_VERSION }),
  ],
  model_list: [
    'webUiControlModels',
    ControlModelsSchema,
    'ControlNets that some model has',
    (registry: Registry) => ({ model_list: controlNames(registry) }),
  ],
  module_list: [
    'webUiControlModules',
    ControlModulesSchema,
    'What makes a control picture of another one',
    controlModules,
  ],
} as const satisfies Record<string, readonly [string, z.ZodType, string, (registry: Registry) => unknown]>;

export function webUiControlRoutes(app: Api, { registry }: CoreParts): void {
  for (const [name, [operationId, schema, summary, answer]] of Object.entries(LISTS)) {
    const route = createRoute({
      method: 'get',
      path: `/controlnet/${name}`,
      tags: ['a1111'],
      security: BEARER_OR_BASIC,
      operationId,
      summary,
      middleware: requires('read'),
      responses: {
        200: { description: summary, content: { 'application/json': { schema } } },
        ...plainErrors(),
      },
    });
    const headers = { 'cache-control': 'private, no-cache' };
    app.openapi(route, (c) => answerJson(c, answer(registry), 200, headers) as never);
  }
}

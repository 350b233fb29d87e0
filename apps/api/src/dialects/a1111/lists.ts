/** What the web UI's clients ask before they draw: models, samplers, and lists of what Lehr does not have. */
import { createRoute, z } from '@hono/zod-openapi';
import type { Registry } from '@lehr/shared';
import { requires } from '../../http/middleware/auth.ts';
import { answerJson } from '../../http/middleware/own-headers.ts';
import { BEARER_OR_BASIC } from '../../http/responses.ts';
import type { Api, CoreParts } from '../../parts.ts';
import { plainErrors } from './errors.ts';
import { pictureModels } from './options.ts';
import { SAMPLERS, SCHEDULERS } from './samplers.ts';
import { upscalers } from './upscale.ts';

const ModelSchema = z
  .object({
    title: z.string(),
    model_name: z.string(),
    hash: z.null(),
    sha256: z.null(),
    filename: z.string(),
    config: z.null(),
  })
  .meta({ id: 'WebUiModel' });

const SamplerSchema = z
  .object({ name: z.string(), aliases: z.array(z.string()), options: z.record(z.string(), z.string()) })
  .meta({ id: 'WebUiSampler' });

const SchedulerSchema = z
  .object({
    name: z.string(),
    label: z.string(),
    aliases: z.array(z.string()),
    default_rho: z.number(),
    need_inner_model: z.boolean(),
  })
  .meta({ id: 'WebUiScheduler' });

const UpscalerSchema = z
  .object({
    name: z.string(),
    model_name: z.null(),
    model_path: z.null(),
    model_url: z.null(),
    scale: z.number(),
  })
  .meta({ id: 'WebUiUpscaler' });

const LoraSchema = z
  .object({
    name: z.string(),
    alias: z.string(),
    path: z.string(),
    metadata: z.object({
      models: z.array(z.string()).meta({ description: 'Those that have it.' }),
      trigger: z.array(z.string()),
      description: z.string().optional(),
    }),
  })
  .meta({ id: 'WebUiLora' });

const nothing = z.array(z.unknown()).max(0);
const namedNothing = z.record(z.string(), z.unknown());

const shared = { tags: ['a1111'], security: BEARER_OR_BASIC };

const refreshRoute = createRoute({
  ...shared,
  method: 'post',
  path: '/sdapi/v1/refresh-checkpoints',
  operationId: 'webUiRefreshCheckpoints',
  summary: 'Read the list of models again, which Lehr does by itself',
  middleware: requires('read'),
  responses: {
    200: { description: 'Nothing to do.', content: { 'application/json': { schema: z.null() } } },
    ...plainErrors(),
  },
});

const PRIVATE = { 'cache-control': 'private, no-cache' };

const modelsOf = (registry: Registry): z.output<typeof ModelSchema>[] =>
  pictureModels(registry).map(({ name }) => ({
    title: name,
    model_name: name,
    hash: null,
    sha256: null,
    filename: name,
    config: null,
  }));

function samplersOf(registry: Registry): z.output<typeof SamplerSchema>[] {
  const offered = new Set(pictureModels(registry).flatMap(({ samplers }) => samplers));
  return SAMPLERS.filter(({ spacings }) => spacings.some(([, sampler]) => offered.has(sampler))).map(
    ({ name, aliases, spacings: [[scheduler]] }) => ({
      name,
      aliases: [...aliases],
      options: { scheduler: scheduler.toLowerCase() },
    }),
  );
}

const schedulersOf = (): z.output<typeof SchedulerSchema>[] =>
  SCHEDULERS.map((label) => ({
    name: label.toLowerCase(),
    label,
    aliases: [],
    default_rho: label === 'Karras' ? 7 : -1,
    need_inner_model: false,
  }));

const upscalerOf = (name: string, scale = 4): z.output<typeof UpscalerSchema> => ({
  name,
  model_name: null,
  model_path: null,
  model_url: null,
  scale,
});

/** What enlarges pixels without a model, and the models. */
const upscalersOf = (registry: Registry): z.output<typeof UpscalerSchema>[] => [
  ...['None', 'Lanczos'].map((name) => upscalerOf(name)),
  ...upscalers(registry).map(({ name, scale }) => upscalerOf(name, scale)),
];

/** A name is there once, with all models that have it; what it says of itself is that of the first one. */
function lorasOf(registry: Registry): z.output<typeof LoraSchema>[] {
  const loras = new Map<string, z.output<typeof LoraSchema>>();
  for (const model of pictureModels(registry)) {
    for (const { name, trigger, description } of model.adapters) {
      const { metadata } = loras.get(name) ?? { metadata: { models: [], trigger, description } };
      const models = [...metadata.models, model.name];
      loras.set(name, { name, alias: name, path: name, metadata: { ...metadata, models } });
    }
  }
  return [...loras.values()];
}

/** The lists by the ends of their paths: the schema, and what to answer. */
const LISTS = {
  'sd-models': [z.array(ModelSchema), 'Models that draw', modelsOf],
  samplers: [z.array(SamplerSchema), 'Samplers that some model offers', samplersOf],
  schedulers: [z.array(SchedulerSchema), 'Spacings of the steps', schedulersOf],
  upscalers: [z.array(UpscalerSchema), 'Upscalers of pixels', upscalersOf],
  'latent-upscale-modes': [
    z.array(UpscalerSchema.pick({ name: true })),
    'Upscalers of latents',
    () => [{ name: 'Latent' }],
  ],
  loras: [z.array(LoraSchema), 'LoRAs (adapters) that some model has', lorasOf],
  embeddings: [
    z.object({ loaded: namedNothing, skipped: namedNothing }),
    'Embeddings: none',
    () => ({ loaded: {}, skipped: {} }),
  ],
  'sd-vae': [nothing, 'VAEs apart from models: none', () => []],
  hypernetworks: [nothing, 'Hypernetworks: none', () => []],
  'face-restorers': [nothing, 'Face restorers: none', () => []],
  'prompt-styles': [nothing, 'Styles: none', () => []],
  scripts: [
    z.object({ txt2img: nothing, img2img: nothing }),
    'Scripts: none',
    () => ({ txt2img: [], img2img: [] }),
  ],
} as const satisfies Record<string, readonly [z.ZodType, string, (registry: Registry) => unknown]>;

export function webUiListRoutes(app: Api, { registry }: CoreParts): void {
  for (const [name, [schema, summary, answer]] of Object.entries(LISTS)) {
    const route = createRoute({
      ...shared,
      method: 'get',
      path: `/sdapi/v1/${name}`,
      operationId: `webUi${name.replace(/(?:^|-)([a-z])/g, (_, letter: string) => letter.toUpperCase())}`,
      summary,
      middleware: requires('read'),
      responses: {
        200: { description: 'The list.', content: { 'application/json': { schema } } },
        ...plainErrors(),
      },
    });
    app.openapi(route, (c) => answerJson(c, answer(registry), 200, PRIVATE) as never);
  }
  app.openapi(refreshRoute, (c) => answerJson(c, null, 200, PRIVATE));
}

/**
 * The options of the web UI. Clients choose the model of their later calls with them; so that nobody changes the model of another caller, the
 * choice is that of the key which makes it. The other options have no effect.
 */
import { createRoute, z } from '@hono/zod-openapi';
import { type DiffusionModelEntry, LehrError, type Registry } from '@lehr/shared';
import { requires } from '../../http/middleware/auth.ts';
import { answerJson } from '../../http/middleware/own-headers.ts';
import { BEARER_OR_BASIC } from '../../http/responses.ts';
import type { Api, CoreParts } from '../../parts.ts';
import { bodyErrors, plainErrors } from './errors.ts';

/** Of a choice, since it was made. */
const KEPT_MS = 30 * 24 * 3_600_000;

const OptionsSchema = z
  .object({
    sd_model_checkpoint: z
      .string()
      .nullable()
      .meta({ description: 'The model of calls of this key that name none.' }),
    sd_checkpoint_hash: z.null(),
    sd_vae: z.literal('Automatic'),
    samples_format: z.literal('png'),
    CLIP_stop_at_last_layers: z.int(),
  })
  .meta({ id: 'WebUiOptions' });

const shared = { path: '/sdapi/v1/options', tags: ['a1111'], security: BEARER_OR_BASIC };

const readRoute = createRoute({
  ...shared,
  method: 'get',
  operationId: 'webUiOptions',
  summary: 'Options, of which Lehr has few',
  middleware: requires('read'),
  responses: {
    200: { description: 'The options.', content: { 'application/json': { schema: OptionsSchema } } },
    ...plainErrors(),
  },
});

const setRoute = createRoute({
  ...shared,
  method: 'post',
  operationId: 'webUiSetOptions',
  summary: 'Choose the model of later calls of this key',
  description:
    'It counts for 30 days, where a call has no `override_settings.sd_model_checkpoint`. Null and an empty text take it back. Other options have ' +
    'no effect.',
  middleware: requires('submit'),
  request: {
    body: {
      required: true,
      content: {
        'application/json': {
          schema: z.looseObject({
            sd_model_checkpoint: z
              .string()
              .max(200)
              .nullish()
              .meta({ description: 'A `title` of the list of models.', example: 'demo-diffusion' }),
          }),
        },
      },
    },
  },
  responses: {
    200: { description: 'Done.', content: { 'application/json': { schema: z.null() } } },
    ...bodyErrors('not-found'),
  },
});

const PRIVATE = { 'cache-control': 'private, no-cache' };

type OptionParts = Pick<CoreParts, 'redis' | 'keys' | 'registry'>;

export function webUiOptionRoutes(app: Api, parts: OptionParts): void {
  app.openapi(readRoute, async (c) => {
    const chosen = await chosenModel(parts, c.var.caller.keyId);
    const models = pictureModels(parts.registry);
    const options = {
      sd_model_checkpoint: chosen ?? (models.find((model) => model.default) ?? models[0])?.name ?? null,
      sd_checkpoint_hash: null,
      sd_vae: 'Automatic' as const,
      samples_format: 'png' as const,
      CLIP_stop_at_last_layers: 1,
    };
    return answerJson(c, options, 200, PRIVATE);
  });
  app.openapi(setRoute, async (c) => {
    const { sd_model_checkpoint: checkpoint } = c.req.valid('json');
    const { redis, keys, registry } = parts;
    const key = keys.webUiModel(c.var.caller.keyId);
    if (checkpoint) {
      const { model = '' } = modelOf(registry, checkpoint);
      await redis.set(key, model, 'PX', KEPT_MS);
    } else if (checkpoint !== undefined) await redis.del(key);
    return answerJson(c, null, 200, PRIVATE);
  });
}

/** The model that the key has chosen; undefined when it has chosen none, or one that is no longer there. */
export async function chosenModel(
  { redis, keys, registry }: OptionParts,
  keyId: string,
): Promise<string | undefined> {
  const chosen = await redis.get(keys.webUiModel(keyId));
  if (chosen === null) return undefined;
  try {
    return modelOf(registry, chosen).model;
  } catch (error) {
    if (error instanceof LehrError && error.code === 'model-not-found') return undefined;
    throw error;
  }
}

export const pictureModels = ({ models }: Registry): DiffusionModelEntry[] =>
  models.filter((model): model is DiffusionModelEntry => model.task === 'diffusion');

/** Titles of the web UI are names of files, perhaps with a hash behind them. Throws `model-not-found`. */
export function modelOf(
  registry: Registry,
  checkpoint: string | null | undefined,
): { readonly model: string | undefined; readonly entry: DiffusionModelEntry } {
  const model =
    checkpoint?.replace(/ \[[0-9a-f]+\]$/i, '').replace(/\.(?:safetensors|ckpt)$/i, '') || undefined;
  return { model, entry: registry.resolve('diffusion', model, 0).model };
}

/** The paths of the inference API in the OpenAPI document. */
import { type RouteConfig, z } from '@hono/zod-openapi';
import { BEARER } from '../../http/responses.ts';
import { DURABILITY_HEADER, IDEMPOTENCY_HEADER } from '../../jobs/requests/call-headers.ts';
import type { Api } from '../../parts.ts';
import { HuggingFaceErrorSchema } from './errors.ts';

export const FILL_MASK_PATH = '/fill-mask';

/** The path of a route, and that of everything under it. The name of a model may have an owner before it; a dot would not match a line break. */
export const MODEL_PATHS = [
  { path: '/models/:model{[\\s\\S]+}', under: '/models/*' },
  { path: '/hf-inference/models/:model{[\\s\\S]+}', under: '/hf-inference/models/*' },
] as const;

const BodySchema = z
  .looseObject({
    inputs: z.unknown().meta({
      description: 'A text or a list of texts; a prompt; or audio, or a picture, in base64.',
      example: 'a red [MASK] on a blue background',
    }),
    parameters: z.record(z.string(), z.unknown()).nullish().meta({
      description: 'Those of the task, as in `huggingface_hub`; unknown ones are ignored.',
    }),
    options: z
      .looseObject({
        wait_for_model: z.boolean().nullish().meta({
          description: 'False: answer 503 when no worker has the model open. Default: true.',
        }),
      })
      .nullish(),
  })
  .meta({ id: 'HuggingFaceRequest' });

/** A JSON string is the text itself. */
const JsonBodySchema = z.union([BodySchema, z.string().meta({ example: 'a red circle' })]);

const AnswerSchema = z.unknown().meta({
  description:
    "In the shape of transformers' pipelines: a list of numbers, of labels, of tokens or of entities; or `{text}`.",
});
const binary = { schema: z.string().meta({ format: 'binary' }) };

const errors = (...statuses: readonly number[]): RouteConfig['responses'] =>
  Object.fromEntries(
    statuses.map((status) => [
      status,
      {
        description: 'Refused or failed.',
        content: { 'application/json': { schema: HuggingFaceErrorSchema } },
      },
    ]),
  );
const ERRORS = errors(400, 401, 403, 404, 408, 409, 410, 413, 415, 422, 429, 500, 503, 504);

const HEADERS = z.object({ ...IDEMPOTENCY_HEADER, ...DURABILITY_HEADER });

const DESCRIPTION =
  'Makes a job and holds the request until it is finished. `model` is the name of an offered model, perhaps after an owner, and ' +
  'may be followed by `/pipeline/` and the name of a task; without it the call is of the first task of the model. A body that is ' +
  'not JSON is the input itself: audio for a speech model, a picture for one that transforms pictures, else a ' +
  "text; so is a JSON string. Answers have the shape of transformers' pipelines. When " +
  'the hold ends first, the answer is 504 and the job continues; the same call again waits for the same job.';

export function registerPaths(app: Api): void {
  const call = (operationId: string, path: string, summary: string): RouteConfig => ({
    method: 'post',
    path,
    operationId,
    tags: ['huggingface'],
    summary,
    description: DESCRIPTION,
    security: BEARER,
    request: {
      headers: HEADERS,
      params: z.object({
        model: z.string().meta({ param: { name: 'model', in: 'path' }, example: 'demo-text' }),
      }),
      body: {
        required: true,
        content: { 'application/json': { schema: JsonBodySchema }, 'audio/wav': binary, 'image/png': binary },
      },
    },
    responses: {
      200: {
        description: 'The result of the task; of a picture its bytes.',
        content: { 'application/json': { schema: AnswerSchema }, 'image/png': binary },
      },
      ...ERRORS,
    },
  });
  app.openAPIRegistry.registerPath(
    call('runModel', '/models/{model}', 'Run a model, for clients of the Hugging Face inference API'),
  );
  app.openAPIRegistry.registerPath(
    call('runRoutedModel', '/hf-inference/models/{model}', 'The same, with the path of the router'),
  );
  app.openAPIRegistry.registerPath({
    ...call('fillMask', FILL_MASK_PATH, 'Fill the mask of a text that is the body'),
    description:
      'For clients of a server in front of one fill-mask pipeline: the body is the text, and the default model for this task fills ' +
      'its mask. A JSON body is read as by `/models/{model}`.',
    request: {
      headers: HEADERS,
      body: {
        required: true,
        content: {
          'text/plain': { schema: z.string().meta({ example: 'a red [MASK] on a blue background' }) },
          'application/json': { schema: JsonBodySchema },
        },
      },
    },
    responses: {
      200: {
        description:
          'The most probable tokens, best first; for a text with several masks one such list per mask.',
        content: { 'application/json': { schema: AnswerSchema } },
      },
      ...ERRORS,
    },
  });
}

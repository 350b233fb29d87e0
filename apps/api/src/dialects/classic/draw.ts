/** POST /t2i, the endpoint of the classic micro-batching server: answers with the bytes of one picture. */
import { createRoute, z } from '@hono/zod-openapi';
import { type ErrorCode, TextToImageRequestSchema } from '@lehr/shared';
import type { Context } from 'hono';
import type { ApiEnv } from '../../http/middleware/api-env.ts';
import { authenticate, guardQuota, requires } from '../../http/middleware/auth.ts';
import { countRefusals } from '../../http/middleware/observe.ts';
import { readBody } from '../../http/middleware/read-body.ts';
import { BEARER, problemsWithKey } from '../../http/responses.ts';
import { IDEMPOTENCY_HEADER } from '../../jobs/requests/call-headers.ts';
import { atTheTop, nativeRequest } from '../../jobs/requests/field-names.ts';
import { holdUntilDone, type SucceededRecord } from '../../jobs/requests/hold.ts';
import { makeJob } from '../../jobs/requests/make-job.ts';
import type { Api, ApiParts, JobParts, PlaceParts } from '../../parts.ts';
import { readImage } from '../read-image.ts';
import { nullsAsAbsent } from '../without-nulls.ts';

const PATH = '/t2i';
const { prompt, negative_prompt, width, height, steps, guidance, seed, n } = TextToImageRequestSchema.shape;

/** Fields of a picture, whatever it is drawn from. */
export const PICTURE_FIELDS = {
  negative_prompt,
  width,
  height,
  inference_steps: steps,
  guidance_scale: guidance,
  seed,
};

const PictureFieldsSchema = z.object(PICTURE_FIELDS);

const RequestSchema = nullsAsAbsent({
  prompt,
  ...PICTURE_FIELDS,
  n: n.meta({
    description:
      'Number of pictures. The answer is the first one; its `Link` header has the links of the others.',
  }),
}).meta({ id: 'ClassicRequest' });

/** Of a route that answers with the bytes of a picture: `more` are further errors. */
export const pictureResponses = (...more: readonly ErrorCode[]) => ({
  200: {
    description: 'The picture.',
    content: { 'image/png': { schema: z.string().meta({ format: 'binary' }) } },
  },
  ...problemsWithKey(
    'invalid-request',
    'model-not-found',
    'conflict',
    'gone',
    'too-large',
    'unsupported-media',
    'invalid-input',
    'idempotency-mismatch',
    'rate-limited',
    'overloaded',
    'hold-expired',
    ...more,
  ),
});

const route = createRoute({
  method: 'post',
  path: PATH,
  operationId: 'drawPicture',
  tags: ['classic'],
  summary: 'Draw a picture and get its bytes',
  description:
    'Makes a text-to-image job of the default model and holds the request until it is finished. Unknown fields are ignored. ' +
    'When the hold ends first, the answer is 504 and the job continues; the same request again waits for the same job.',
  security: BEARER,
  request: {
    headers: z.object(IDEMPOTENCY_HEADER),
    body: {
      required: true,
      content: {
        'application/json': {
          schema: RequestSchema,
          example: { prompt: 'a red circle on a blue background', width: 64, height: 64, inference_steps: 8 },
        },
      },
    },
  },
  responses: pictureResponses(),
});

/** Their names, where they are not the native ones. */
export const PICTURE_NAMES = { '/input/steps': '/inference_steps', '/input/guidance': '/guidance_scale' };
const NAMES = atTheTop(PICTURE_NAMES);

export function classicRoutes(app: Api, parts: ApiParts): void {
  const { metrics, quotas, holdMs } = parts;
  const never = (): boolean => false;
  app.use(PATH, authenticate(parts), readBody({ ...parts, mayBeLarge: never, isSkipped: never }));
  app.on('POST', PATH, countRefusals(metrics), requires('submit'), guardQuota(quotas));
  app.openapi(route, async (c) => {
    const body = c.req.valid('json');
    const { prompt, n } = body;
    const input = { prompt, n, ...pictureInput(body) };
    const made = await makeJob(c, parts, {
      route: `POST ${PATH}`,
      body,
      request: nativeRequest({ type: 'text-to-image', input }, NAMES),
      names: NAMES,
      idempotencyKey: c.req.valid('header')['idempotency-key'],
      isHeld: true,
      cancelIfAbandoned: true,
    });
    const record = await holdUntilDone(c, parts, made, holdMs);
    // The types of zod-openapi know JSON answers only.
    return (await answerPicture(c, parts, record, made.headers)) as never;
  });
}

/** The native fields of PICTURE_FIELDS. */
export function pictureInput(fields: Partial<z.output<typeof PictureFieldsSchema>>) {
  const { inference_steps: steps, guidance_scale: guidance, negative_prompt, width, height, seed } = fields;
  return { negative_prompt, width, height, seed, steps, guidance };
}

/** The bytes of the first picture, with links to the others. */
export async function answerPicture(
  c: Context<ApiEnv>,
  { store, presenter }: JobParts & PlaceParts,
  record: SucceededRecord,
  headers: Readonly<Record<string, string>>,
): Promise<Response> {
  const [first] = record.output.images;
  if (!first) throw new Error(`Job ${record.id} succeeded without a picture. This is a bug in Lehr.`);
  const others = ((await presenter.job(record)).output?.images ?? []).slice(1);
  return c.body(await readImage(store, first), 200, {
    ...headers,
    'content-type': first.content_type,
    ...(others.length > 0 && { link: others.map(({ url }) => `<${url}>; rel="item"`).join(', ') }),
  });
}

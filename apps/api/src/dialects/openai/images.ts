/** POST /v1/images/generations: makes a text-to-image job and holds or streams the answer. */
import { createRoute } from '@hono/zod-openapi';
import {
  type Clock,
  IMAGE_FORMATS,
  type ImageFormat,
  type JobEvent,
  TextToImageInputSchema,
} from '@lehr/shared';
import type { ObjectStore } from '@lehr/shared/objects';
import type { JobRecord } from '@lehr/shared/records';
import { eventStream, SSE_HEADERS } from '../../follow/sse.ts';
import { enterStream, holderOf, orLeave } from '../../follow/streams.ts';
import { guardQuota, requires } from '../../http/middleware/auth.ts';
import { countRefusals } from '../../http/middleware/observe.ts';
import { answerJson } from '../../http/middleware/own-headers.ts';
import { BEARER } from '../../http/responses.ts';
import { atTheTop, type Names, nativeRequest } from '../../jobs/requests/field-names.ts';
import { holdUntilDone, type SucceededRecord } from '../../jobs/requests/hold.ts';
import { makeJob } from '../../jobs/requests/make-job.ts';
import type { Api, ApiParts, JobParts, PlaceParts } from '../../parts.ts';
import { readImage } from '../read-image.ts';
import { type CallEventMapper, callEvents } from './call-events.ts';
import { CALL_HEADERS, holdMsOf, repeatOf } from './call-headers.ts';
import { callErrors } from './errors.ts';
import {
  type ImageEvent,
  ImageEventSchema,
  type ImageRequest,
  ImageRequestSchema,
  type Images,
  ImagesSchema,
} from './image-contract.ts';

const PATH = '/v1/images/generations';

const route = createRoute({
  method: 'post',
  path: PATH,
  operationId: 'createImage',
  tags: ['openai'],
  summary: 'Create pictures, for OpenAI clients',
  description:
    'Makes a text-to-image job and holds the call until the pictures are finished, or streams them with `stream: true`. Fields ' +
    'that are null or unknown are ignored; `quality`, `style`, `moderation` and `user` have no effect. When the hold ends ' +
    'first, the answer is 504 and the job continues; the same call again waits for the same job.',
  security: BEARER,
  request: {
    headers: CALL_HEADERS,
    body: {
      required: true,
      content: {
        'application/json': {
          schema: ImageRequestSchema,
          example: {
            prompt: 'a red circle on a blue background',
            n: 1,
            size: '64x64',
            response_format: 'url',
          },
        },
      },
    },
  },
  responses: {
    200: {
      description:
        'The pictures, or their events. The schema of events is that of the `data` of each, which is JSON.',
      content: {
        'application/json': { schema: ImagesSchema },
        'text/event-stream': { schema: ImageEventSchema },
      },
    },
    ...callErrors(),
  },
});

const NAMES: Names = atTheTop({ '/input/width': '/size', '/input/height': '/size' });

export function imageRoutes(app: Api, parts: ApiParts): void {
  app.on('POST', PATH, countRefusals(parts.metrics), requires('submit'), guardQuota(parts.quotas));
  app.openapi(route, async (c) => {
    const body = c.req.valid('json');
    const headers = c.req.valid('header');
    const request = nativeRequest(requestOf(body), NAMES);
    // Counted before the job is made, whose id a refused caller would not learn.
    const place = body.stream
      ? enterStream(c.req.raw, parts.streams, holderOf(c.var.caller, 'submit'))
      : undefined;
    const making = makeJob(c, parts, {
      route: `POST ${PATH}`,
      body,
      request,
      names: NAMES,
      isHeld: !place,
      cancelIfAbandoned: true,
      ...repeatOf(headers),
    });
    const made = await orLeave(place, making);
    if (place) {
      const mapper = imageEventMapper(parts, made.record, body.partial_images ?? 0);
      const stream = eventStream((disconnected) => callEvents(parts, made, mapper, disconnected), place);
      // The types of zod-openapi know JSON answers only.
      return c.body(stream, 200, { ...made.headers, ...SSE_HEADERS }) as never;
    }
    const record = await holdUntilDone(c, parts, made, holdMsOf(parts, headers));
    return answerJson(c, await imagesOf(parts, record, body.response_format), 200, made.headers);
  });
}

function requestOf(body: ImageRequest): Parameters<typeof nativeRequest>[0] {
  const { prompt, model, n, size, output_format } = body;
  const { negative_prompt, steps, guidance, seed, sampler, image, strength } = body;
  const [width, height] = size === undefined || size === 'auto' ? [] : size.split('x').map(Number);
  const own = { negative_prompt, steps, guidance, seed, sampler, image, strength };
  return { type: 'text-to-image', model, input: { prompt, n, width, height, output_format, ...own } };
}

async function imagesOf(
  { presenter, store }: JobParts & PlaceParts,
  record: SucceededRecord,
  format: ImageRequest['response_format'],
): Promise<Images> {
  const { output } = await presenter.job(record);
  const links = output?.images ?? [];
  const data = await Promise.all(
    record.output.images.map(async (image, i) => ({
      ...(format !== 'b64_json' && { url: links[i]?.url }),
      ...(format !== 'url' && { b64_json: Buffer.from(await readImage(store, image)).toString('base64') }),
    })),
  );
  return { created: Math.floor(record.finished_at / 1000), data, ...pictureOf(record) };
}

/** OpenAI's clients require the fields; Lehr counts no tokens. */
const NO_USAGE = {
  input_tokens: 0,
  output_tokens: 0,
  total_tokens: 0,
  input_tokens_details: { image_tokens: 0, text_tokens: 0 },
};

/** `partials` is the most previews that are sent. */
function imageEventMapper(
  { store, clock }: { readonly store: ObjectStore; readonly clock: Clock },
  record: JobRecord,
  partials: number,
): CallEventMapper {
  const common = { ...pictureOf(record), quality: 'auto' as const };
  let sent = 0;
  return {
    previews: partials > 0,
    during: (event: JobEvent): ImageEvent | undefined => {
      if (event.type !== 'job.preview') return undefined;
      const { step, steps, content_type, data } = event.data;
      // The first preview is sent at once, the others spread evenly over the steps.
      if (sent === partials || step / steps < sent / partials) return undefined;
      return {
        type: 'image_generation.partial_image',
        ...common,
        output_format: IMAGE_FORMATS.find((each) => content_type === `image/${each}`) ?? common.output_format,
        b64_json: data,
        created_at: Math.floor(clock.now() / 1000),
        partial_image_index: sent++,
      };
    },
    after: async function* ({ output, finished_at }: SucceededRecord): AsyncGenerator<ImageEvent> {
      for (const image of output.images) {
        yield {
          type: 'image_generation.completed',
          ...common,
          b64_json: Buffer.from(await readImage(store, image)).toString('base64'),
          created_at: Math.floor(finished_at / 1000),
          usage: NO_USAGE,
        };
      }
    },
  };
}

interface Picture {
  readonly size: string;
  readonly output_format: ImageFormat;
  readonly background: 'opaque';
}

/** The facts that OpenAI's answers give about every picture of a job. */
function pictureOf({ input }: JobRecord): Picture {
  const { width, height, output_format } = TextToImageInputSchema.parse(input);
  return { size: `${width}x${height}`, output_format, background: 'opaque' };
}

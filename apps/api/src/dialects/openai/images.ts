/** POST /v1/images/generations: makes a text-to-image job and holds or streams the answer. */
import { createRoute } from '@hono/zod-openapi';
import type { JobRequest } from '@lehr/shared';
import { eventStream, SSE_HEADERS } from '../../follow/sse.ts';
import { enterStream, holderOf, orLeave } from '../../follow/streams.ts';
import { guardQuota, requires } from '../../http/middleware/auth.ts';
import { countRefusals } from '../../http/middleware/observe.ts';
import { answerJson } from '../../http/middleware/own-headers.ts';
import { BEARER } from '../../http/responses.ts';
import { atTheTop, type Names, nativeRequest } from '../../jobs/requests/field-names.ts';
import { holdUntilDone } from '../../jobs/requests/hold.ts';
import { makeJob } from '../../jobs/requests/make-job.ts';
import type { Api, ApiParts } from '../../parts.ts';
import { callEvents } from './call-events.ts';
import { CALL_HEADERS, holdMsOf, repeatOf } from './call-headers.ts';
import { callErrors } from './errors.ts';
import { imageEventMapper, imagesOf, SIZE_NAMES, sidesOf } from './image-answers.ts';
import {
  ImageEventSchema,
  type ImageRequest,
  ImageRequestSchema,
  ImagesSchema,
  ownFields,
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

export const IMAGE_NAMES: Names = atTheTop(SIZE_NAMES);

export function imageRoutes(app: Api, parts: ApiParts): void {
  app.on('POST', PATH, countRefusals(parts.metrics), requires('submit'), guardQuota(parts.quotas));
  app.openapi(route, async (c) => {
    const body = c.req.valid('json');
    const headers = c.req.valid('header');
    const request = imageJobOf(body);
    // Counted before the job is made, whose id a refused caller would not learn.
    const place = body.stream
      ? enterStream(c.req.raw, parts.streams, holderOf(c.var.caller, 'submit'))
      : undefined;
    const making = makeJob(c, parts, {
      route: `POST ${PATH}`,
      body,
      request,
      names: IMAGE_NAMES,
      isHeld: !place,
      cancelIfAbandoned: true,
      ...repeatOf(headers),
    });
    const made = await orLeave(place, making);
    if (place) {
      const mapper = imageEventMapper(parts, made.record, 'image_generation', body.partial_images);
      const stream = eventStream((disconnected) => callEvents(parts, made, mapper, disconnected), place);
      // The types of zod-openapi know JSON answers only.
      return c.body(stream, 200, { ...made.headers, ...SSE_HEADERS }) as never;
    }
    const record = await holdUntilDone(c, parts, made, holdMsOf(parts, headers));
    return answerJson(c, await imagesOf(parts, record, body.response_format), 200, made.headers);
  });
}

/** Throws `invalid-input` with the names of the call. */
export function imageJobOf(body: ImageRequest): JobRequest {
  const { prompt, model, n, size, output_format, image, mask } = body;
  const input = { prompt, n, ...sidesOf(size), output_format, image, mask, ...ownFields(body) };
  return nativeRequest({ type: 'text-to-image', model, input }, IMAGE_NAMES);
}

/**
 * POST /v1/images/edits and /v1/images/variations: make a text-to-image job that begins at the uploaded picture. What was uploaded is stored
 * with the job, and deleted with it.
 */
import { type RouteConfig, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { refusal } from '../../base/field-problems.ts';
import { eventStream, SSE_HEADERS } from '../../follow/sse.ts';
import { enterStream, holderOf, orLeave, type StreamPlace } from '../../follow/streams.ts';
import { referenceTo } from '../../http/bodies/inline-audio.ts';
import type { ApiEnv } from '../../http/middleware/api-env.ts';
import { guardQuota, requires } from '../../http/middleware/auth.ts';
import { countRefusals } from '../../http/middleware/observe.ts';
import { answerJson } from '../../http/middleware/own-headers.ts';
import { BEARER } from '../../http/responses.ts';
import type { Multipart, ReceivedFile } from '../../jobs/files/multipart.ts';
import { hasAlpha } from '../../jobs/picture-header.ts';
import { atTheTop, type Names, nativeRequest } from '../../jobs/requests/field-names.ts';
import { holdUntilDone } from '../../jobs/requests/hold.ts';
import { type MadeJob, makeJob } from '../../jobs/requests/make-job.ts';
import type { Api, ApiParts } from '../../parts.ts';
import { receiveUpload, uploadFields } from '../uploads.ts';
import { callEvents } from './call-events.ts';
import { CALL_HEADERS, type CallHeaders, callHeadersOf, holdMsOf, repeatOf } from './call-headers.ts';
import { callErrors } from './errors.ts';
import { imageEventMapper, imagesOf, SIZE_NAMES, sidesOf } from './image-answers.ts';
import {
  type EditFields,
  EditFieldsSchema,
  ImageEventSchema,
  ImagesSchema,
  ownFields,
  VariationFieldsSchema,
} from './image-contract.ts';

const EDITS = '/v1/images/edits';
const VARIATIONS = '/v1/images/variations';

const NAMES: Names = atTheTop(SIZE_NAMES);

const binary = (description: string) => z.string().meta({ format: 'binary', description });
const IMAGE = binary(
  'The picture to begin at: PNG, JPEG or WebP. `image[]` is the same part; one picture is taken.',
);
const MASK = binary(
  'A PNG with an alpha channel, of the size of `image`: where it is transparent, the picture is drawn again; the rest of it stays as it is.',
).optional();

interface Call {
  readonly path: string;
  readonly summary: string;
  readonly operationId: string;
  readonly about: string;
  readonly form: z.ZodObject;
  readonly takesMask: boolean;
  readonly answers: object;
  readonly read: (body: Multipart) => EditFields;
}

/**
 * The native prompt is not empty; a space has the same tokens as nothing. Guidance moves away from the empty prompt: it would cost a row and
 * change nothing.
 */
const UNPROMPTED = { prompt: ' ', guidance: 1 };

const CALLS: readonly Call[] = [
  {
    path: EDITS,
    operationId: 'createImageEdit',
    summary: 'Edit a picture, for OpenAI clients',
    about:
      'Makes a text-to-image job that begins at the uploaded picture, and holds the call until the pictures are finished, or streams them ' +
      'with `stream`. `input_fidelity`, `quality`, `moderation` and `user` have no effect.',
    form: z.object({ image: IMAGE, mask: MASK, ...EditFieldsSchema.shape }),
    takesMask: true,
    answers: { 'text/event-stream': { schema: ImageEventSchema } },
    read: (body) => uploadFields(EditFieldsSchema, body),
  },
  {
    path: VARIATIONS,
    operationId: 'createImageVariation',
    summary: 'Vary a picture, for OpenAI clients',
    about:
      'Makes a text-to-image job without a prompt that begins at the uploaded picture, and holds the call until the pictures are finished.',
    form: z.object({ image: IMAGE, ...VariationFieldsSchema.shape }),
    takesMask: false,
    answers: {},
    read: (body) => ({ ...uploadFields(VariationFieldsSchema, body), ...UNPROMPTED }),
  },
];

export function imageEditRoutes(app: Api, parts: ApiParts): void {
  for (const call of CALLS) {
    // Not app.openapi: its validator would read the whole body before its size can be checked.
    app.openAPIRegistry.registerPath(routeOf(call));
    app.on('POST', call.path, countRefusals(parts.metrics), requires('submit'), guardQuota(parts.quotas));
    app.post(call.path, (c) => answerCall(c, parts, call));
  }
}

function routeOf({ path, operationId, summary, about, form, answers }: Call): RouteConfig {
  return {
    method: 'post',
    path,
    operationId,
    tags: ['openai'],
    summary,
    description:
      `${about} Parts that are empty or unknown are ignored. When the hold ends first, the answer is 504 and the job continues; the same ` +
      'call again waits for the same job.',
    security: BEARER,
    request: {
      headers: CALL_HEADERS,
      body: { required: true, content: { 'multipart/form-data': { schema: form } } },
    },
    responses: {
      200: {
        description:
          'The pictures, or their events. The schema of events is that of the `data` of each, which is JSON.',
        content: { 'application/json': { schema: ImagesSchema }, ...answers },
      },
      ...callErrors(),
    },
  };
}

async function answerCall(c: Context<ApiEnv>, parts: ApiParts, call: Call): Promise<Response> {
  const headers = callHeadersOf(c);
  // The job is made while the upload has its slot, which bounds the bytes in memory.
  const { fields, made, place } = await receiveUpload(c, parts.files, (body) =>
    makeEdit(c, parts, call, body, headers),
  );
  if (place) {
    const mapper = imageEventMapper(parts, made.record, 'image_edit', fields.partial_images);
    const stream = eventStream((disconnected) => callEvents(parts, made, mapper, disconnected), place);
    return c.body(stream, 200, { ...made.headers, ...SSE_HEADERS });
  }
  const record = await holdUntilDone(c, parts, made, holdMsOf(parts, headers));
  return answerJson(c, await imagesOf(parts, record, fields.response_format), 200, made.headers);
}

interface MadeEdit {
  readonly fields: EditFields;
  readonly made: MadeJob;
  /** Of a streamed call. */
  readonly place: StreamPlace | undefined;
}

async function makeEdit(
  c: Context<ApiEnv>,
  parts: ApiParts,
  { path, read, takesMask }: Call,
  body: Multipart,
  headers: CallHeaders,
): Promise<MadeEdit> {
  const uploads = uploadsOf(body, takesMask);
  const fields = read(body);
  const [image, mask] = uploads.map(({ bytes }, i) => referenceTo(i, bytes));
  const { prompt, model, n, size, output_format } = fields;
  const input = { prompt, n, ...sidesOf(size), output_format, image, mask, ...ownFields(fields) };
  const request = nativeRequest({ type: 'text-to-image', model, input }, NAMES);
  // Counted before the job is made, whose id a refused caller would not learn.
  const place = fields.stream
    ? enterStream(c.req.raw, parts.streams, holderOf(c.var.caller, 'submit'))
    : undefined;
  c.set('inlineAudio', uploads);
  const making = makeJob(c, parts, {
    route: `POST ${path}`,
    // The references have the digests of the files.
    body: { ...fields, image, mask },
    request,
    names: NAMES,
    isHeld: !place,
    cancelIfAbandoned: true,
    ...repeatOf(headers),
  });
  return { fields, made: await orLeave(place, making), place };
}

/** The picture and, where there is one, its mask. Throws `invalid-input`. */
function uploadsOf(body: Multipart, takesMask: boolean): readonly ReceivedFile[] {
  const wrong = (part: string, detail: string) => refusal('invalid-input', [{ pointer: `/${part}`, detail }]);
  // A client that is given a list names each part `image[]` or `image[0]`.
  const [images, masks] = ['image', 'mask'].map((part) =>
    body.files.filter(({ field }) => field.replace(/\[\d*\]$/, '') === part),
  );
  if (images.length === 0) throw wrong('image', 'is required');
  if (images.length > 1) throw wrong('image', `must be one picture; ${images.length} were sent`);
  if (masks.length > 1) throw wrong('mask', `must be one picture; ${masks.length} were sent`);
  if (masks.length === 1 && !takesMask) throw wrong('mask', 'cannot be used here; images.edit takes it');
  if (masks.length === 1 && !hasAlpha(masks[0].bytes)) {
    throw wrong('mask', 'must be a PNG with an alpha channel: what is transparent is changed');
  }
  return [...images, ...masks];
}

/**
 * POST /models/{model} and POST /hf-inference/models/{model}, the inference API of Hugging Face, and POST /fill-mask, the bare form
 * of a server in front of one pipeline: each makes a job and holds the request until it is finished.
 */
import { LehrError, TranscriptSchema } from '@lehr/shared';
import type { Context } from 'hono';
import { HTTPException } from 'hono/http-exception';
import type { InlineAudio } from '../../http/bodies/inline-audio.ts';
import { inactive } from '../../http/fair-admission.ts';
import type { ApiEnv } from '../../http/middleware/api-env.ts';
import { authenticate, guardQuota, requires } from '../../http/middleware/auth.ts';
import { countRefusals } from '../../http/middleware/observe.ts';
import { answerJson, answerWritten } from '../../http/middleware/own-headers.ts';
import { MAX_JSON_BYTES, readBody, readKnownLength, statedLength } from '../../http/middleware/read-body.ts';
import { DURABILITY, durabilityOf, idempotencyKeyOf } from '../../jobs/requests/call-headers.ts';
import type { Names } from '../../jobs/requests/field-names.ts';
import { holdUntilDone, type SucceededRecord } from '../../jobs/requests/hold.ts';
import { makeJob } from '../../jobs/requests/make-job.ts';
import type { Api, ApiParts, HttpParts, PlaceParts } from '../../parts.ts';
import { readImage } from '../read-image.ts';
import { textAnswer } from '../text-answer.ts';
import { FILL_MASK_PATH, MODEL_PATHS, registerPaths } from './document.ts';
import { type Body, bodyOf } from './fields.ts';
import {
  mediaOf,
  NAMES,
  PICTURE_NAMES,
  pictureRequest,
  SPEECH_NAMES,
  shapeOf,
  speechAnswer,
  speechRequest,
  TRANSFORM_NAMES,
  textRequest,
  transformRequest,
} from './task-calls.ts';
import { checkLoaded, type Wanted, wantedBy } from './wanted.ts';

export function huggingFaceRoutes(app: Api, parts: ApiParts): void {
  registerPaths(app);
  const never = (): boolean => false;
  for (const { path, under } of [...MODEL_PATHS, { path: FILL_MASK_PATH, under: FILL_MASK_PATH }]) {
    app.use(
      under,
      authenticate(parts),
      readBody({ ...parts, mayBeLarge: () => path !== FILL_MASK_PATH, isSkipped: never }),
    );
    app.on('POST', path, countRefusals(parts.metrics), requires('submit'), guardQuota(parts.quotas));
  }
  for (const { path } of MODEL_PATHS) {
    app.post(path, (c) => answerCall(c, parts, path, wantedBy(parts.registry, c.req.param('model') ?? '')));
  }
  app.post(FILL_MASK_PATH, (c) =>
    answerCall(c, parts, FILL_MASK_PATH, { type: 'fill-mask', model: undefined }),
  );
}

async function answerCall(
  c: Context<ApiEnv>,
  parts: ApiParts,
  path: string,
  wanted: Wanted,
): Promise<Response> {
  const { body, media } = await receive(c, parts, wanted);
  const { request, names } = requestOf(wanted, body, media);
  const waits = body.waitsForModel && c.req.header('x-wait-for-model') !== 'false';
  await inactive(c, checkLoaded(parts, wanted, waits, c.req.raw.signal));
  if (media) c.set('inlineAudio', [media]);
  const made = await makeJob(c, parts, {
    route: `POST ${path}`,
    body: { wanted, request },
    request,
    names,
    idempotencyKey: idempotencyKeyOf(c.req.header('idempotency-key')),
    isHeld: true,
    durability: durabilityOf(c.req.header(DURABILITY)),
    cancelIfAbandoned: true,
  });
  const record = await holdUntilDone(c, parts, made, parts.holdMs);
  if (wanted.type === 'picture-transform' && record.output.labels) {
    return answerJson(c, record.output.labels, 200, made.headers);
  }
  if (wanted.type === 'text-to-image' || wanted.type === 'picture-transform') {
    return answerPicture(c, parts, record, made.headers);
  }
  if (wanted.type === 'speech-to-text') {
    return answerJson(c, await transcriptOf(parts, body, record), 200, made.headers);
  }
  const json = await textAnswer(c, parts, made, record, shapeOf(wanted.type, body));
  return answerWritten(c, json, 200, made.headers);
}

interface Received {
  readonly body: Body;
  /** The recording of a speech model, or the picture of one that transforms pictures. */
  readonly media?: InlineAudio;
}

/**
 * A body that is not JSON is the input itself: audio for a speech model, a picture for one that transforms pictures, else a text. Old examples send JSON with the type that curl
 * sets for `-d`, or with none.
 */
async function receive(c: Context<ApiEnv>, parts: ApiParts, { type }: Wanted): Promise<Received> {
  const raw = await rawBody(c, parts);
  if (raw === undefined) {
    const body = bodyOf(await jsonOf(c));
    return takesMedia(type) ? { body, media: mediaOf(type, body) } : { body };
  }
  const body: Body = { inputs: undefined, parameters: {}, waitsForModel: true };
  if (takesMedia(type)) return { body, media: raw };
  const text = Buffer.from(raw.bytes).toString('utf8');
  if (!isUntyped(raw.contentType) || !text.trimStart().startsWith('{'))
    return { body: { ...body, inputs: text } };
  return { body: bodyOf(parsed(text)) };
}

const takesMedia = (type: Wanted['type']): type is 'speech-to-text' | 'picture-transform' =>
  type === 'speech-to-text' || type === 'picture-transform';

const isUntyped = (contentType: string): boolean =>
  contentType === '' || /^application\/x-www-form-urlencoded\b/i.test(contentType);

/** Throws a refusal of the body. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new HTTPException(400, { cause });
  }
}

/** Throws a refusal of the body. */
async function jsonOf(c: Context<ApiEnv>): Promise<unknown> {
  try {
    return await c.req.json();
  } catch (cause) {
    throw new HTTPException(400, { cause });
  }
}

function requestOf(
  { type, model }: Wanted,
  body: Body,
  media: InlineAudio | undefined,
): { readonly request: Parameters<typeof makeJob>[2]['request']; readonly names: Names } {
  if (type === 'text-to-image') return { request: pictureRequest(model, body), names: PICTURE_NAMES };
  if (!takesMedia(type)) return { request: textRequest(type, model, body), names: NAMES };
  if (!media) throw new Error(`A call of ${type} has no media. This is a bug in Lehr.`);
  return type === 'speech-to-text'
    ? { request: speechRequest(model, body, media), names: SPEECH_NAMES }
    : { request: transformRequest(model, body, media), names: TRANSFORM_NAMES };
}

async function transcriptOf(parts: ApiParts, body: Body, record: SucceededRecord): Promise<unknown> {
  const transcript = TranscriptSchema.safeParse((await parts.presenter.job(record)).output);
  if (transcript.success) return speechAnswer(body, transcript.data);
  throw new LehrError('gone', 'The transcript has been deleted.', { cause: transcript.error });
}

async function answerPicture(
  c: Context<ApiEnv>,
  { store }: PlaceParts,
  record: SucceededRecord,
  headers: Readonly<Record<string, string>>,
): Promise<Response> {
  const [first] = record.output.images;
  if (!first) throw new Error(`Job ${record.id} succeeded without a picture. This is a bug in Lehr.`);
  return c.body(await readImage(store, first), 200, { ...headers, 'content-type': first.content_type });
}

/**
 * The bytes of the body and its media type; undefined for a JSON body. `readBody` has bounded its length. Throws `overloaded`,
 * `too-slow`, and `invalid-request` for a body that ends early.
 */
async function rawBody(c: Context<ApiEnv>, { bodyReads }: HttpParts): Promise<InlineAudio | undefined> {
  const contentType = c.req.header('content-type') ?? '';
  if (/^application\/json\b/i.test(contentType)) return undefined;
  const length = statedLength(c);
  const read = async (): Promise<Uint8Array> => {
    const incoming = c.env?.incoming;
    if (incoming && length !== undefined) return readKnownLength(incoming, length);
    return new Uint8Array(await c.req.arrayBuffer());
  };
  const bytes = await inactive(c, bodyReads.run(c.var.caller.tenant, length ?? MAX_JSON_BYTES, read));
  if (bytes.byteLength === 0) throw new LehrError('invalid-request', 'The body is empty.');
  return { contentType, bytes };
}

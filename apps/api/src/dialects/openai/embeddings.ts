/** POST /v1/embeddings: makes a text-embedding job and holds the answer. */
import { createRoute } from '@hono/zod-openapi';
import type { JobRequest } from '@lehr/shared';
import { guardQuota, requires } from '../../http/middleware/auth.ts';
import { countRefusals } from '../../http/middleware/observe.ts';
import { answerWritten } from '../../http/middleware/own-headers.ts';
import { BEARER } from '../../http/responses.ts';
import { DURABILITY, DURABILITY_HEADER } from '../../jobs/requests/call-headers.ts';
import { atTheTop, type Names, nativeRequest } from '../../jobs/requests/field-names.ts';
import { holdUntilDone, type SucceededRecord } from '../../jobs/requests/hold.ts';
import { makeJob } from '../../jobs/requests/make-job.ts';
import type { Api, ApiParts } from '../../parts.ts';
import { textAnswer } from '../text-answer.ts';
import { CALL_HEADERS, holdMsOf, repeatOf } from './call-headers.ts';
import {
  type EmbeddingRequest,
  EmbeddingRequestSchema,
  EmbeddingsSchema,
  textsOf,
} from './embedding-contract.ts';
import { callErrors } from './errors.ts';

const PATH = '/v1/embeddings';
const EMBEDDING_HEADERS = CALL_HEADERS.extend(DURABILITY_HEADER);

const route = createRoute({
  method: 'post',
  path: PATH,
  operationId: 'createEmbedding',
  tags: ['openai'],
  summary: 'Embed texts, for OpenAI clients',
  description:
    'Makes a text-embedding job and holds the call until it is finished. Fields that are null or unknown are ignored. A text that ' +
    'is longer than the model takes is refused and not cut. When the hold ends first, the answer is 504 and the job continues; ' +
    'the same call again waits for the same job.',
  security: BEARER,
  request: {
    headers: EMBEDDING_HEADERS,
    body: {
      required: true,
      content: {
        'application/json': {
          schema: EmbeddingRequestSchema,
          example: { input: ['a red circle on a blue background'], encoding_format: 'float' },
        },
      },
    },
  },
  responses: {
    200: { description: 'The embeddings.', content: { 'application/json': { schema: EmbeddingsSchema } } },
    ...callErrors(),
  },
});

const AT_THE_TOP = atTheTop();
/** `/input/texts/3` is `/input/3`; the one text of a request is `/input` itself. */
export const EMBEDDING_NAMES: Names = (pointer) =>
  pointer.startsWith('/input/texts') ? pointer.replace('/input/texts', '/input') : AT_THE_TOP(pointer);

export function embeddingRoutes(app: Api, parts: ApiParts): void {
  app.on('POST', PATH, countRefusals(parts.metrics), requires('submit'), guardQuota(parts.quotas));
  app.openapi(route, async (c) => {
    const body = c.req.valid('json');
    const headers = c.req.valid('header');
    const made = await makeJob(c, parts, {
      route: `POST ${PATH}`,
      body,
      request: embeddingJobOf(body),
      names: EMBEDDING_NAMES,
      isHeld: true,
      durability: headers[DURABILITY],
      cancelIfAbandoned: true,
      ...repeatOf(headers),
    });
    const record = await holdUntilDone(c, parts, made, holdMsOf(parts, headers));
    const shape = embeddingsShape(body, record);
    // Its type is not checked against the schema, because large answers come as text.
    return answerWritten(c, await textAnswer(c, parts, made, record, shape), 200, made.headers) as never;
  });
}

/** Throws `invalid-input` with the names of the call. */
export function embeddingJobOf({ model, input, dimensions }: EmbeddingRequest): JobRequest {
  return nativeRequest(
    { type: 'text-embedding', model, input: { texts: textsOf(input), dimensions } },
    EMBEDDING_NAMES,
  );
}

export const embeddingsShape = (
  { encoding_format: format = 'float' }: EmbeddingRequest,
  { model }: SucceededRecord,
) => ({ dialect: 'openai', format, model }) as const;

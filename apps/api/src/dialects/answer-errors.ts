/**
 * Answers every error in the dialect of its path. Details of internal errors stay in the log, under the request id that the
 * answer carries.
 */
import type { HttpBindings } from '@hono/node-server';
import {
  type ErrorCode,
  LehrError,
  type Log,
  PROBLEM_MEDIA_TYPE,
  toLehrError,
  toProblem,
} from '@lehr/shared';
import { isRedisOutage } from '@lehr/shared/redis';
import type { Context } from 'hono';
import { HTTPException } from 'hono/http-exception';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { QuotaError, quotaHeaders, randomRetryAfterS } from '../access/quotas.ts';
import type { ApiEnv } from '../http/middleware/api-env.ts';
import { webUiRefusal } from './a1111/errors.ts';
import { huggingFaceRefusal } from './huggingface/errors.ts';
import { openaiRefusal } from './openai/errors.ts';

const CODE_OF_STATUS: Readonly<Record<number, ErrorCode>> = {
  400: 'invalid-request',
  401: 'unauthenticated',
  403: 'forbidden',
  404: 'not-found',
  405: 'method-not-allowed',
  413: 'too-large',
  415: 'unsupported-media',
};
/** Retry-After of an outage is random within this many seconds, so that callers do not all retry at once. */
const MAX_OUTAGE_RETRY_S = 3;

export function answerErrors(log: Log) {
  return async (error: Error, c: Context<ApiEnv>): Promise<Response> => {
    const known = await classify(error, c);
    const facts = { requestId: c.var.requestId, method: c.req.method, path: c.req.path, error };
    if (known.code === 'internal') log.error(facts, 'a request failed with an internal error');
    else if (known.status >= 500) log.warn(facts, `a request was answered with status ${known.status}`);
    return problemResponse(c, known);
  };
}

function problemResponse(
  c: Context<ApiEnv>,
  error: LehrError,
  dialect: ErrorDialect = dialectOf(c.req.path),
): Response {
  c.set('refusal', error.code);
  const shown =
    error.code === 'internal' ? new LehrError('internal', 'Something went wrong on our side.') : error;
  const openai = openaiRefusal(error);
  const headers = { ...refusalHeaders(error), ...(dialect === 'openai' && openai.headers) };
  for (const [name, value] of Object.entries(headers)) c.header(name, value);
  c.header('cache-control', 'no-store');
  if (dialect === 'openai') return c.json(openai.body, openai.status as ContentfulStatusCode);
  if (dialect === 'a1111')
    return c.json(webUiRefusal(shown, c.req.path), shown.status as ContentfulStatusCode);
  if (dialect === 'huggingface') {
    const { status, body } = huggingFaceRefusal(shown);
    return c.json(body, status as ContentfulStatusCode);
  }
  c.header('content-type', PROBLEM_MEDIA_TYPE);
  const problem = toProblem(shown, c.var.requestId);
  const body = dialect === 'both' ? { ...problem, ...openai.body } : problem;
  return c.body(JSON.stringify(body), error.status as ContentfulStatusCode);
}

/** `Retry-After` and the used-up quota: the same in every dialect. */
function refusalHeaders(error: LehrError): Record<string, string> {
  const retryAfterS =
    error.retryAfterS ?? (error.status === 503 ? randomRetryAfterS(MAX_OUTAGE_RETRY_S) : undefined);
  return {
    ...(retryAfterS !== undefined && { 'retry-after': String(retryAfterS) }),
    ...(error instanceof QuotaError && quotaHeaders(error.quota)),
  };
}

/** Where clients of other products call, by the beginning of the path: what Lehr has in its place. */
const NOT_OFFERED: Readonly<Record<string, string>> = {
  '/v1/chat':
    'Lehr has no chat models. It draws (/v1/images/generations), transcribes (/v1/audio/transcriptions) and embeds (/v1/embeddings).',
  '/prompt':
    'Lehr has no API of ComfyUI. POST /v1/jobs draws a picture, or runs a workflow of several nodes.',
};

export function answerNotFound(c: Context<ApiEnv>): Response {
  const { path } = c.req;
  const [, advice] =
    Object.entries(NOT_OFFERED).find(([start]) => path === start || path.startsWith(`${start}/`)) ?? [];
  const dialect = dialectOf(path) === 'a1111' ? 'a1111' : 'both';
  return problemResponse(c, new LehrError('not-found', advice ?? 'There is nothing at this path.'), dialect);
}

export function answerMethodNotAllowed(c: Context<ApiEnv>, methods: readonly string[]): Response {
  c.header('allow', methods.join(', '));
  return problemResponse(
    c,
    new LehrError('method-not-allowed', `This path takes ${methods.join(', ')}, not ${c.req.method}.`),
  );
}

async function classify(error: Error, c: Context): Promise<LehrError> {
  if (error instanceof LehrError) return error;
  if (isBrokenOff(c)) {
    return new LehrError('invalid-request', 'The body ends before it is complete.', { cause: error });
  }
  if (error instanceof HTTPException) return fromHono(error, c);
  if (isRedisOutage(error)) {
    return new LehrError('unavailable', 'The queue cannot be reached; try again.', { cause: error });
  }
  return toLehrError(error);
}

/** The caller has hung up while its body was read. Nobody gets this answer; it only keeps the log free of errors. */
function isBrokenOff(c: Context): boolean {
  const { incoming } = (c.env ?? {}) as Partial<HttpBindings>;
  return incoming?.destroyed === true && !incoming.complete;
}

async function fromHono(error: HTTPException, c: Context): Promise<LehrError> {
  const code = CODE_OF_STATUS[error.status] ?? 'internal';
  switch (code) {
    case 'invalid-request':
      return new LehrError(code, await notJson(c), { cause: error });
    case 'unsupported-media':
      return new LehrError(code, 'The body must be JSON, sent as content-type application/json.', {
        cause: error,
      });
    default:
      return new LehrError(code, error.message || 'Refused.', { cause: error });
  }
}

/** JavaScript values that JSON cannot express, with the name of their field. */
const NO_JSON_NUMBER = /"((?:[^"\\]|\\.){1,64})"\s*:\s*(-?(?:NaN|Infinity)|undefined)\b/;

/** The hint looks at the start of a body only, since the search is quadratic in the worst case. */
const MAX_HINT_LENGTH = 4096;

/** Hono throws a bare 400 only for a body that does not parse. */
async function notJson(c: Context): Promise<string> {
  const [, name, value] =
    NO_JSON_NUMBER.exec((await c.req.text().catch(() => '')).slice(0, MAX_HINT_LENGTH)) ?? [];
  return name ? `The body is not JSON: "${name}" is ${value}.` : 'The body is not JSON.';
}

/**
 * How errors are answered: as problem+json, in OpenAI's envelope, as both at once where both kinds of client call, or as the
 * inference API of Hugging Face or the Stable Diffusion web UI answers them.
 */
type ErrorDialect = 'native' | 'openai' | 'both' | 'huggingface' | 'a1111';

const OPENAI = /^\/v1\/(?:images|audio|embeddings)(?:\/|$)/;
const HUGGINGFACE = /^\/(?:(?:hf-inference\/)?models\/|fill-mask$)/;
/** One name after `models/`: two names are a Replicate model. */
const SHARED = /^\/v1\/(?:models(?:\/[^/]+)?$|(?:files|batches)(?:\/|$))/;

export function dialectOf(path: string): ErrorDialect {
  if (OPENAI.test(path)) return 'openai';
  if (/^\/(?:sdapi|controlnet)\//.test(path)) return 'a1111';
  if (HUGGINGFACE.test(path)) return 'huggingface';
  return SHARED.test(path) ? 'both' : 'native';
}

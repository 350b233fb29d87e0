/** Any error to one problem body. What a caller need not know stays in the log, under the id he is given. */
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
import type { ApiEnv } from '../api.ts';
import { openaiRefusal } from '../dialects/openai/errors.ts';
import { type Wire, wireOf } from '../dialects/wire.ts';
import { QuotaError, quotaHeaders, randomRetryAfterS } from '../limits/quota.ts';

const CODE_OF_STATUS: Readonly<Record<number, ErrorCode>> = {
  400: 'invalid-request',
  401: 'unauthenticated',
  403: 'forbidden',
  404: 'not-found',
  405: 'method-not-allowed',
  413: 'too-large',
  415: 'unsupported-media',
};
/** Callers that come back are spread over this many seconds, so that they do not return all at once. */
const RETRY_SPREAD_S = 3;

export function answerErrors(log: Log) {
  return async (error: Error, c: Context<ApiEnv>): Promise<Response> => {
    const known = await classify(error, c);
    const facts = { requestId: c.var.requestId, method: c.req.method, path: c.req.path, error };
    if (known.code === 'internal') log.error(facts, 'a request failed by a fault of ours');
    else if (known.status >= 500) log.warn(facts, `request answered ${known.status}`);
    return problemResponse(c, known);
  };
}

export function problemResponse(
  c: Context<ApiEnv>,
  error: LehrError,
  wire: Wire = wireOf(c.req.path),
): Response {
  const shown =
    error.code === 'internal' ? new LehrError('internal', 'Something went wrong on our side.') : error;
  const openai = openaiRefusal(error);
  const headers = { ...refusalHeaders(error), ...(wire === 'openai' && openai.headers) };
  for (const [name, value] of Object.entries(headers)) c.header(name, value);
  c.header('cache-control', 'no-store');
  if (wire === 'openai') return c.json(openai.body, openai.status as ContentfulStatusCode);
  c.header('content-type', PROBLEM_MEDIA_TYPE);
  const problem = toProblem(shown, c.var.requestId);
  const body = wire === 'both' ? { ...problem, ...openai.body } : problem;
  return c.body(JSON.stringify(body), error.status as ContentfulStatusCode);
}

/** When to come back, and what was used up: the same in every dialect's refusals. */
export function refusalHeaders(error: LehrError): Record<string, string> {
  const retryAfterS =
    error.retryAfterS ?? (error.status === 503 ? randomRetryAfterS(RETRY_SPREAD_S) : undefined);
  return {
    ...(retryAfterS !== undefined && { 'retry-after': String(retryAfterS) }),
    ...(error instanceof QuotaError && quotaHeaders(error.quota)),
  };
}

export const answerNotFound = (c: Context<ApiEnv>): Response =>
  problemResponse(c, new LehrError('not-found', 'There is nothing at this path.'), 'both');

export function answerMethodNotAllowed(c: Context<ApiEnv>, methods: readonly string[]): Response {
  c.header('allow', methods.join(', '));
  return problemResponse(
    c,
    new LehrError('method-not-allowed', `This path takes ${methods.join(', ')}, not ${c.req.method}.`),
  );
}

async function classify(error: Error, c: Context): Promise<LehrError> {
  if (error instanceof LehrError) return error;
  if (error instanceof HTTPException) return fromHono(error, c);
  if (isRedisOutage(error)) {
    return new LehrError('unavailable', 'The queue cannot be reached; try again.', { cause: error });
  }
  return toLehrError(error);
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

/** JavaScript writes these where JSON has no word for them; the field is found by its name. */
const NO_JSON_NUMBER = /"((?:[^"\\]|\\.){1,64})"\s*:\s*(-?(?:NaN|Infinity)|undefined)\b/;

/** Hono throws a bare 400 only for a body that does not parse. */
async function notJson(c: Context): Promise<string> {
  const [, name, value] = NO_JSON_NUMBER.exec(await c.req.text().catch(() => '')) ?? [];
  return name ? `The body is not JSON: "${name}" is ${value}.` : 'The body is not JSON.';
}

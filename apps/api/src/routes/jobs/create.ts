/** Makes a job. */
import { createRoute, type RouteConfig, type RouteHandler, z } from '@hono/zod-openapi';
import { JobRequestSchema, JobSchema } from '@lehr/shared';
import type { Context, MiddlewareHandler } from 'hono';
import { HTTPException } from 'hono/http-exception';
import type { ApiEnv } from '../../http/middleware/api-env.ts';
import { guardQuota, requires } from '../../http/middleware/auth.ts';
import { countRefusals } from '../../http/middleware/observe.ts';
import { answerJson } from '../../http/middleware/own-headers.ts';
import { refuseInvalid } from '../../http/middleware/validation.ts';
import { BEARER, problemsWithKey } from '../../http/responses.ts';
import { isOver } from '../../jobs/present.ts';
import { IDEMPOTENCY_HEADER, preferredWaitS } from '../../jobs/requests/call-headers.ts';
import { waitUntilOver } from '../../jobs/requests/hold.ts';
import { makeJob } from '../../jobs/requests/make-job.ts';
import type { Api, ApiParts } from '../../parts.ts';
import { JOB_REQUESTS, QUEUED_JOB, SUCCEEDED_JOB } from '../examples.ts';
import { WaitQuery } from '../params.ts';

const PATH = '/v1/jobs';

const headers = z.object({
  ...IDEMPOTENCY_HEADER,
  prefer: z.string().optional().meta({ description: '`wait=N` has the same effect as `?wait=N`.' }),
});

const route = createRoute({
  method: 'post',
  path: PATH,
  operationId: 'createJob',
  tags: ['jobs'],
  summary: 'Create a job',
  description:
    'Responds with 202 as soon as the job is stored; from then on it reaches exactly one terminal state. With a wait, the ' +
    'response is held until the job has ended (200) or the wait is over (202). The job continues in any case, also when the ' +
    'client disconnects.',
  security: BEARER,
  request: {
    query: WaitQuery,
    headers,
    body: {
      required: true,
      content: { 'application/json': { schema: JobRequestSchema, examples: JOB_REQUESTS } },
    },
  },
  responses: {
    200: {
      description: 'The job has ended.',
      content: { 'application/json': { schema: JobSchema, example: SUCCEEDED_JOB } },
    },
    202: {
      description: 'The job is queued or running; its URL is in `Location`.',
      content: { 'application/json': { schema: JobSchema, example: QUEUED_JOB } },
    },
    ...problemsWithKey(
      'invalid-request',
      'model-not-found',
      'too-large',
      'unsupported-media',
      'gone',
      'invalid-input',
      'idempotency-mismatch',
      'rate-limited',
      'overloaded',
    ),
  },
});

export function createJobRoute(app: Api, parts: ApiParts): void {
  const { presenter, metrics, quotas } = parts;
  app.on('POST', PATH, countRefusals(metrics), requires('submit'), guardQuota(quotas));
  openapiAtOnce(app, route, { query: WaitQuery, headers, body: JobRequestSchema }, async (c) => {
    const { prefer, 'idempotency-key': idempotencyKey } = c.req.valid('header');
    const preferredS = preferredWaitS(prefer);
    const waitS = preferredS ?? c.req.valid('query').wait;
    const request = c.req.valid('json');
    const made = await makeJob(c, parts, {
      route: `POST ${PATH}`,
      // Absent and `standard` have always been the same request.
      body: { priority: 'standard', ...request },
      request,
      idempotencyKey,
      isHeld: waitS > 0,
      cancelIfAbandoned: false,
    });
    const record = waitS > 0 ? await waitUntilOver(c, parts, made.record, waitS * 1000) : made.record;
    // Known from the command that put it into its queue.
    const position = record === made.record ? made.position : undefined;
    const job = await presenter.job(record, { position });
    const headers: Record<string, string> = { etag: presenter.etag(record, job), ...made.headers };
    if (made.isStored) headers.location = `${PATH}/${record.id}`;
    if (preferredS !== undefined) headers['preference-applied'] = `wait=${preferredS}`;
    if (isOver(record)) return answerJson(c, job, 200, headers);
    headers['retry-after'] = '1';
    return answerJson(c, job, 202, headers);
  });
}

/** What is parsed at once; a request with another content type goes the way of app.openapi, which refuses it. */
const PLAIN_JSON = /^application\/json(?:; *charset=utf-8)?$/i;

interface Parsed {
  readonly query: z.ZodType;
  readonly headers: z.ZodObject;
  readonly body: z.ZodType;
}

/**
 * Parses all parts of a JSON request in one step, for the route with the most requests. The middleware of app.openapi does it part by part
 * and waits between them: zod uses its compiled parsers only without waiting, and all headers of the request are copied.
 * As `app.openapi`, for a route that takes JSON.
 */
function openapiAtOnce<Route extends RouteConfig>(
  app: Api,
  route: Route,
  parsed: Parsed,
  handler: RouteHandler<Route, ApiEnv>,
): void {
  const answer = handler as unknown as MiddlewareHandler<ApiEnv>;
  const headerNames = Object.keys(parsed.headers.shape);
  app.on(route.method, route.path, async function parseAtOnce(c, next) {
    if (!PLAIN_JSON.test(c.req.header('content-type') ?? '')) return next();
    check(c, 'query', parsed.query, c.req.url.includes('?') ? queryOf(c) : {});
    check(c, 'header', parsed.headers, headersOf(c, headerNames));
    check(c, 'json', parsed.body, parseJson(await c.req.text()));
    return answer(c, next);
  });
  app.openapi(route, handler);
}

function check(c: Context<ApiEnv>, target: 'query' | 'header' | 'json', schema: z.ZodType, value: unknown) {
  const result = schema.safeParse(value);
  refuseInvalid({ target, ...result });
  c.req.addValidatedData(target, result.data as object);
}

/** A parameter that is given once as a text, and one that is repeated as a list. */
const queryOf = (c: Context<ApiEnv>): object =>
  Object.fromEntries(
    Object.entries(c.req.queries()).map(([name, values]) => [name, values.length === 1 ? values[0] : values]),
  );

function headersOf(c: Context<ApiEnv>, names: readonly string[]): object {
  const headers: Record<string, string> = {};
  for (const name of names) {
    const value = c.req.header(name);
    if (value !== undefined) headers[name] = value;
  }
  return headers;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new HTTPException(400, { message: 'Malformed JSON in request body' });
  }
}

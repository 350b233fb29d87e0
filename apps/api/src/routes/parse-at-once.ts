/**
 * Parses all parts of a JSON request in one step, for the route with the most requests. The middleware of app.openapi does it part by part
 * and waits between them: zod uses its compiled parsers only without waiting, and all headers of the request are copied.
 */
import type { RouteConfig, RouteHandler, z } from '@hono/zod-openapi';
import type { Context, MiddlewareHandler } from 'hono';
import { HTTPException } from 'hono/http-exception';
import type { ApiEnv } from '../http/middleware/api-env.ts';
import { refuseInvalid } from '../http/middleware/validation.ts';
import type { Api } from '../parts.ts';

/** What is parsed at once; a request with another content type goes the way of app.openapi, which refuses it. */
const PLAIN_JSON = /^application\/json(?:; *charset=utf-8)?$/i;

interface Parsed {
  readonly query: z.ZodType;
  readonly headers: z.ZodObject;
  readonly body: z.ZodType;
}

/** As `app.openapi`, for a route that takes JSON. */
export function openapiAtOnce<Route extends RouteConfig>(
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

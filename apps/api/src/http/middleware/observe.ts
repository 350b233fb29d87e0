/** What is observed of every request: metrics, a line of the log, and its span. */
import type { Log, Metrics } from '@lehr/shared';
import { type Tracing, traceIdOf } from '@lehr/shared/tracing';
import type { Context, MiddlewareHandler } from 'hono';
import { matchedRoutes } from 'hono/route';
import type { ApiEnv } from './api-env.ts';

/** Counts and times each response by the template of its route, so that ids in paths add no series. */
export function observe(metrics: Metrics<'api'>, log: Log): MiddlewareHandler<ApiEnv> {
  return async function observe(c, next) {
    const startedAt = c.env?.arrivedAt ?? performance.now();
    await next();
    const seconds = (performance.now() - startedAt) / 1000;
    const { status } = c.res;
    const { method } = c.req;
    const route = routeOf(c);
    metrics.httpRequests.inc({ method, route, status });
    const traceparent = c.get('span')?.traceparent;
    metrics.httpRequestDuration.observe({ method, route }, seconds, traceparent);
    log.debug(
      {
        requestId: c.get('requestId'),
        trace: traceIdOf(traceparent),
        method,
        route,
        status,
        ms: Math.round(seconds * 1000),
      },
      'answered',
    );
  };
}

/** The template of the route that answered; `none` when no route matched. */
function routeOf(c: Context<ApiEnv>): string {
  // The last match is the handler. If it is middleware (method ALL), no route matched.
  const last = matchedRoutes(c).at(-1);
  return last && last.method !== 'ALL' ? last.path : 'none';
}

/** Asked every few seconds by machines, also when there is nothing to see. */
const PROBES: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics']);

/**
 * Gives a sampled request its span, as a part of the caller's trace if it sends a `traceparent`. The span of a stream ends when
 * the stream begins.
 */
export function traceRequests(tracing: Tracing): MiddlewareHandler<ApiEnv> {
  return async function traceRequests(c, next) {
    const { method, path } = c.req;
    if (PROBES.has(path)) return next();
    const parent = c.req.header('traceparent');
    const span = tracing.start(method, { parent, kind: 'server' });
    if (!span) return next();
    c.set('span', span);
    await next();
    const { status } = c.res;
    const route = routeOf(c);
    span.rename(`${method} ${route}`);
    span.set({
      'http.request.method': method,
      'http.route': route,
      'http.response.status_code': status,
      'lehr.request.id': c.get('requestId'),
    });
    span.end({ error: status >= 500 ? String(status) : undefined });
  };
}

/** Counts requests for a job that are refused. Without a model label, because the model may not exist. */
export function countRefusals(metrics: Metrics<'api'>): MiddlewareHandler<ApiEnv> {
  return async function countRefusals(c, next) {
    await next();
    if (c.res.status < 400) return;
    metrics.requests.inc({ model: '', version: '', outcome: 'refused' });
    metrics.refusals.inc({ code: c.get('refusal') ?? 'internal' });
  };
}

import type { Log, Metrics } from '@lehr/shared';
import { traceIdOf } from '@lehr/shared/tracing';
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
export function routeOf(c: Context<ApiEnv>): string {
  // The last match is the handler. If it is middleware (method ALL), no route matched.
  const last = matchedRoutes(c).at(-1);
  return last && last.method !== 'ALL' ? last.path : 'none';
}

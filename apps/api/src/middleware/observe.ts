import type { Log, Metrics } from '@lehr/shared';
import type { MiddlewareHandler } from 'hono';
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
    // The last match is the handler. If it is middleware (method ALL), no route matched.
    const last = matchedRoutes(c).at(-1);
    const route = last && last.method !== 'ALL' ? last.path : 'none';
    metrics.httpRequests.inc({ method, route, status });
    metrics.httpRequestDuration.observe({ method, route }, seconds);
    log.debug(
      { requestId: c.get('requestId'), method, route, status, ms: Math.round(seconds * 1000) },
      'answered',
    );
  };
}

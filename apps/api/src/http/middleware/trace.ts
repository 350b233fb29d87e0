import type { Tracing } from '@lehr/shared/tracing';
import type { MiddlewareHandler } from 'hono';
import type { ApiEnv } from './api-env.ts';
import { routeOf } from './observe.ts';

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

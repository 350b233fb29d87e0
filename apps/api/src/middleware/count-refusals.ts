import type { Metrics } from '@lehr/shared';
import type { MiddlewareHandler } from 'hono';
import type { ApiEnv } from './api-env.ts';

/** Requests for a job that became none. Their model may not exist, so it is left out. */
export function countRefusals(metrics: Metrics<'api'>): MiddlewareHandler<ApiEnv> {
  return async function countRefusals(c, next) {
    await next();
    if (c.res.status >= 400) metrics.requests.inc({ model: '', version: '', outcome: 'refused' });
  };
}

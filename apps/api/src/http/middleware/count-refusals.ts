import type { Metrics } from '@lehr/shared';
import type { MiddlewareHandler } from 'hono';
import type { ApiEnv } from './api-env.ts';

/** Counts requests for a job that are refused. Without a model label, because the model may not exist. */
export function countRefusals(metrics: Metrics<'api'>): MiddlewareHandler<ApiEnv> {
  return async function countRefusals(c, next) {
    await next();
    if (c.res.status < 400) return;
    metrics.requests.inc({ model: '', version: '', outcome: 'refused' });
    metrics.refusals.inc({ code: c.get('refusal') ?? 'internal' });
  };
}

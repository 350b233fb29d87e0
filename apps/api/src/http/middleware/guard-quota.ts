import type { MiddlewareHandler } from 'hono';
import type { Quotas } from '../../access/quotas.ts';
import type { ApiEnv } from './api-env.ts';

/** For routes that create jobs or files: limits the requests of a key before the body is read. */
export function guardQuota(quotas: Quotas): MiddlewareHandler<ApiEnv> {
  return async function guardQuota(c, next) {
    await quotas.admitRequest(c.get('caller'), c.req.header('idempotency-key'));
    await next();
  };
}

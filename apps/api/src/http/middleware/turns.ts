/** What the app does for requests that take turns (limits/active-requests.ts). */
import type { Context, MiddlewareHandler } from 'hono';
import type { ApiEnv } from './api-env.ts';

/** Refuses a request that has waited for its turn too long. */
export function refuseLate(): MiddlewareHandler<ApiEnv> {
  return async function refuseLate(c, next) {
    const refusal = c.env?.refusal;
    if (refusal) throw refusal;
    await next();
  };
}

/** Waits for something slow: meanwhile the request is not active, so that other requests of its caller get their turn. */
export const inactive = <T>(c: Context<ApiEnv>, wait: Promise<T>): Promise<T> =>
  c.env?.activeRequest?.inactive(wait) ?? wait;

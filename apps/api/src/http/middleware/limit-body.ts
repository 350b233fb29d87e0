import { LehrError } from '@lehr/shared';
import type { Context, MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import type { ApiEnv } from './api-env.ts';

/**
 * Refuses a body that is larger than its limit, before all of it is read. A Content-Length is trusted, because the
 * server reads no more than that; a body without one is counted, which is slower (it needs a web Request).
 */
export function limitBody(limit: (c: Context<ApiEnv>) => number | undefined): MiddlewareHandler<ApiEnv> {
  const counted = new Map<number, MiddlewareHandler>();
  return async function limitBody(c, next) {
    if (c.req.method === 'GET' || c.req.method === 'HEAD') return next();
    const maxBytes = limit(c);
    if (maxBytes === undefined) return next();
    const length = statedLength(c);
    if (length !== undefined) {
      if (length > maxBytes) refuse(maxBytes);
      return next();
    }
    const count = counted.get(maxBytes) ?? bodyLimit({ maxSize: maxBytes, onError: () => refuse(maxBytes) });
    counted.set(maxBytes, count);
    return count(c, next);
  };
}

/** The Content-Length; undefined for a body in chunks, whose length is known at its end. */
export const statedLength = (c: Context<ApiEnv>): number | undefined => {
  const length = c.req.header('content-length');
  return length === undefined || c.req.header('transfer-encoding') !== undefined ? undefined : Number(length);
};

function refuse(maxBytes: number): never {
  throw new LehrError('too-large', `The body may have at most ${maxBytes} bytes.`);
}

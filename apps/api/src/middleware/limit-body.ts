import { LehrError } from '@lehr/shared';
import type { MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import type { ApiEnv } from './api-env.ts';

/**
 * Refuses a body that is larger than the limit of its path, before all of it is read. A Content-Length is trusted, because the
 * server reads no more than that; a body without one is counted, which is slower (it needs a web Request).
 */
export function limitBody(limit: number | ((path: string) => number | undefined)): MiddlewareHandler<ApiEnv> {
  const maxBytesOf = typeof limit === 'number' ? () => limit : limit;
  const counted = new Map<number, MiddlewareHandler>();
  return async function limitBody(c, next) {
    if (c.req.method === 'GET' || c.req.method === 'HEAD') return next();
    const maxBytes = maxBytesOf(c.req.path);
    if (maxBytes === undefined) return next();
    const length = c.req.header('content-length');
    if (length !== undefined && c.req.header('transfer-encoding') === undefined) {
      if (Number(length) > maxBytes) refuse(maxBytes);
      return next();
    }
    const count = counted.get(maxBytes) ?? bodyLimit({ maxSize: maxBytes, onError: () => refuse(maxBytes) });
    counted.set(maxBytes, count);
    return count(c, next);
  };
}

function refuse(maxBytes: number): never {
  throw new LehrError('too-large', `The body may have at most ${maxBytes} bytes.`);
}

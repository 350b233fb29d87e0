import { LehrError } from '@lehr/shared';
import type { MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import type { ApiEnv } from './api-env.ts';

/**
 * Refuses a body that is larger than its path may have, before it is read whole. A stated length is enough to decide by, since
 * the server reads no more than it; only a body without one is counted, which is slower (it makes a whole web Request first).
 */
export function limitBody(limit: number | ((path: string) => number | undefined)): MiddlewareHandler<ApiEnv> {
  const maxBytesOf = typeof limit === 'number' ? () => limit : limit;
  const counted = new Map<number, MiddlewareHandler>();
  return async function limitBody(c, next) {
    if (c.req.method === 'GET' || c.req.method === 'HEAD') return next();
    const maxBytes = maxBytesOf(c.req.path);
    if (maxBytes === undefined) return next();
    const stated = c.req.header('content-length');
    if (stated !== undefined && c.req.header('transfer-encoding') === undefined) {
      if (Number(stated) > maxBytes) refuse(maxBytes);
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

import { LehrError } from '@lehr/shared';
import type { MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import type { ApiEnv } from '../api.ts';

/**
 * Refuses a body of more than `maxBytes` before it is read whole. A stated length is enough to decide by, since the server
 * reads no more than it; only a body without one is counted, which is slower (it makes a whole web Request first).
 */
export function limitBody(maxBytes: number): MiddlewareHandler<ApiEnv> {
  const refuse = (): never => {
    throw new LehrError('too-large', `The body may have at most ${maxBytes} bytes.`);
  };
  const counted = bodyLimit({ maxSize: maxBytes, onError: refuse });
  return async function limitBody(c, next) {
    if (c.req.method === 'GET' || c.req.method === 'HEAD') return next();
    const stated = c.req.header('content-length');
    if (stated === undefined || c.req.header('transfer-encoding') !== undefined) return counted(c, next);
    if (Number(stated) > maxBytes) refuse();
    await next();
  };
}

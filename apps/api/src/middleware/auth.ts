import { LehrError, type Scope } from '@lehr/shared';
import type { MiddlewareHandler } from 'hono';
import type { Authenticator } from '../auth/authenticator.ts';
import type { ApiEnv } from './api-env.ts';

const BEARER = /^Bearer +([\x21-\x7e]+) *$/i;

/** Requires a valid bearer key and sets the caller. Runs before the body is read. */
export function authenticate(authenticator: Authenticator): MiddlewareHandler<ApiEnv> {
  return async function authenticate(c, next) {
    const [, key] = BEARER.exec(c.req.header('authorization') ?? '') ?? [];
    const caller = key === undefined ? undefined : await authenticator.authenticate(key);
    if (!caller) {
      c.header('www-authenticate', 'Bearer realm="lehr"');
      throw new LehrError(
        'unauthenticated',
        key === undefined ? 'Send your key as "Authorization: Bearer <key>".' : 'This key is not known.',
      );
    }
    c.set('caller', caller);
    await next();
  };
}

/** Requires that the key has this scope. */
export function requires(scope: Scope): MiddlewareHandler<ApiEnv> {
  return async function requires(c, next) {
    if (!c.get('caller').scopes.has(scope)) {
      throw new LehrError('forbidden', `This key does not have the right to ${scope}.`);
    }
    await next();
  };
}

import { LehrError, type Scope } from '@lehr/shared';
import type { MiddlewareHandler } from 'hono';
import type { Authenticator } from '../auth/authenticator.ts';
import { bearerKey } from '../auth/bearer-key.ts';
import type { CallerLines } from '../limits/caller-lines.ts';
import type { ApiEnv } from './api-env.ts';

/** Requires a valid bearer key and sets the caller. Runs before the body is read. */
export function authenticate(authenticator: Authenticator, lines: CallerLines): MiddlewareHandler<ApiEnv> {
  return async function authenticate(c, next) {
    const authorization = c.req.header('authorization') ?? '';
    const key = bearerKey(authorization);
    const caller = key === undefined ? undefined : await authenticator.authenticate(key);
    if (!caller) {
      lines.forget(authorization);
      c.header('www-authenticate', 'Bearer realm="lehr"');
      throw new LehrError(
        'unauthenticated',
        key === undefined ? 'Send your key as "Authorization: Bearer <key>".' : 'This key is not known.',
      );
    }
    lines.remember(authorization, caller.tenant);
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

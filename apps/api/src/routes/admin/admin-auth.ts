import { LehrError } from '@lehr/shared';
import type { Context, MiddlewareHandler } from 'hono';
import { auth } from 'hono/utils/basic-auth';
import { type Authenticator, bearerKey, type Caller } from '../../access/auth/authenticator.ts';
import type { FailedLogins, Refusals } from '../../access/failed-logins.ts';
import type { SessionStore } from '../../access/session/session-store.ts';
import type { ApiEnv } from '../../http/middleware/api-env.ts';
import { actorOf } from '../../http/middleware/auth.ts';
import { findSession, isUnsafe, sessionCookie } from '../../http/middleware/session.ts';

const USER = 'admin';

export interface AdminAuthParts {
  readonly authenticator: Authenticator;
  readonly sessions: SessionStore;
  readonly publicUrl: string;
  readonly refusals: Refusals;
  readonly failedLogins: FailedLogins;
}

/**
 * Requires a key with the scope `admin`: as a bearer token, as the password of the user `admin` in a browser, or as the one that
 * signed in to the studio. Other keys are noted in the audit log; a request without a key, such as the first one of a browser, is not.
 */
export function requireAdmin(parts: AdminAuthParts): MiddlewareHandler<ApiEnv> {
  const { authenticator, sessions, refusals, failedLogins } = parts;
  const cookie = sessionCookie(parts.publicUrl);
  /** Requests that change something carry no token of the session here: the board is read-only, and checks the origin. */
  const callerOfSession = async (c: Context<ApiEnv>): Promise<Caller | undefined> =>
    isUnsafe(c.req.method) ? undefined : (await findSession(c, sessions, cookie))?.caller;
  const authenticated = async (key: string, address: string): Promise<Caller | undefined> => {
    try {
      return await authenticator.authenticate(key);
    } catch (error) {
      // Nothing is known about the password, for example because Redis is down.
      failedLogins.succeeded(address);
      throw error;
    }
  };
  return async function requireAdmin(c, next) {
    const address = actorOf(c).address ?? 'unknown';
    const basic = auth(c.req.raw);
    const key = basic?.username === USER ? basic.password : bearerKey(c.req.header('authorization'));
    if (key !== undefined) failedLogins.attempt(address);
    const caller = key === undefined ? await callerOfSession(c) : await authenticated(key, address);
    if (!caller) {
      if (key !== undefined || basic) refusals.note(actorOf(c), null);
      c.header('www-authenticate', 'Basic realm="Lehr", charset="UTF-8"');
      throw new LehrError('unauthenticated', `Sign in as "${USER}" with an API key as the password.`);
    }
    if (key !== undefined) failedLogins.succeeded(address);
    if (!caller.scopes.has('admin')) {
      refusals.note({ ...actorOf(c), keyId: caller.keyId }, caller.tenant);
      throw new LehrError('forbidden', 'This key does not have the right to administer.');
    }
    await next();
  };
}

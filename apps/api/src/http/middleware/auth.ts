/**
 * Who may make a request: its key or session, the scopes and the quota that its route wants, and its name in the audit log.
 */
import { LehrError, type Scope } from '@lehr/shared';
import type { Context, MiddlewareHandler } from 'hono';
import type { Actor } from '../../access/audit/audit-log.ts';
import { type Authenticator, basicKey, bearerKey, type Caller } from '../../access/auth/authenticator.ts';
import type { Quotas } from '../../access/quotas.ts';
import type { SessionStore } from '../../access/session/session-store.ts';
import type { CallerLines } from '../turns/caller-lines.ts';
import type { ApiEnv } from './api-env.ts';
import { findSession, refuseForeignPage, sessionCookie } from './session.ts';

interface AuthParts {
  readonly authenticator: Authenticator;
  readonly callerLines: CallerLines;
  readonly sessions: SessionStore;
  readonly publicUrl: string;
}

/**
 * The native routes that the studio uses. A session opens no others: it makes no keys, and calls no other API.
 * Replicate's routes are below /v1/models/{owner}/.
 */
const OF_STUDIO =
  /^\/v1\/(?:(?:jobs|batches|files|queues|activity|charts|rollouts)(?:\/|$)|models(?:\/[^/]+)?$)/;
/**
 * What the views of schedules and of administrators read and change. A stolen session can revoke keys and change their limits. It cannot make a key that would
 * outlive it, nor give one other rights or a later end, nor change what a schedule does: the handlers of PATCH refuse that.
 */
const OF_MANAGER: Readonly<Record<string, RegExp>> = {
  GET: /^\/v1\/(?:schedules|keys|audit|settings|usage|dead-letters|traffic)$/,
  PATCH: /^\/v1\/(?:keys|schedules)\/[^/]+$/,
  DELETE: /^\/v1\/(?:keys|schedules)\/[^/]+$/,
};
const isOfStudio = (method: string, path: string): boolean =>
  OF_STUDIO.test(path) || OF_MANAGER[method]?.test(path) === true;

/**
 * Requires a valid bearer key, or for the routes of the studio a session, and sets the caller. Runs before the body is read. With
 * `takesBasic`, the key may come as Basic authorization. The challenge names Bearer even then: a browser would ask its user for the key,
 * keep it, and send it with the requests of other sites.
 */
export function authenticate(
  parts: AuthParts,
  { takesBasic = false }: { readonly takesBasic?: boolean } = {},
): MiddlewareHandler<ApiEnv> {
  const { authenticator, callerLines } = parts;
  const cookie = sessionCookie(parts.publicUrl);
  const callerOfSession = async (c: Context<ApiEnv>): Promise<Caller | undefined> => {
    if (!isOfStudio(c.req.method, c.req.path)) return undefined;
    const session = await findSession(c, parts.sessions, cookie);
    if (!session) return undefined;
    refuseForeignPage(c, session);
    c.set('isSession', true);
    return session.caller;
  };
  return async function authenticate(c, next) {
    const authorization = c.req.header('authorization') ?? '';
    const key = bearerKey(authorization) ?? (takesBasic ? basicKey(authorization) : undefined);
    const caller = key === undefined ? await callerOfSession(c) : await authenticator.authenticate(key);
    if (!caller) {
      callerLines.forget(authorization);
      c.header('www-authenticate', 'Bearer realm="lehr"');
      throw new LehrError(
        'unauthenticated',
        key === undefined ? howToSend(takesBasic) : 'This key is not known.',
      );
    }
    callerLines.remember(authorization, caller.tenant, c.env?.line);
    c.set('caller', caller);
    await next();
  };
}

const howToSend = (takesBasic: boolean): string =>
  `Send your key as "Authorization: Bearer <key>"${takesBasic ? ', or as the password of Basic authorization' : ''}.`;

/** Requires that the key has one of these scopes. */
export function requires(...scopes: readonly Scope[]): MiddlewareHandler<ApiEnv> {
  return function requires(c, next) {
    if (!scopes.some((scope) => c.get('caller').scopes.has(scope))) {
      throw new LehrError('forbidden', `This key does not have the right to ${scopes.join(' or ')}.`);
    }
    return next();
  };
}

/** Requests without a known key have no caller. */
export const actorOf = (c: Context<ApiEnv>): Actor => ({
  keyId: c.get('caller')?.keyId ?? null,
  address: c.get('address') ?? null,
});

/** As guardQuota, for requests that wait until there is room for their jobs. */
export function guardRate(quotas: Quotas): MiddlewareHandler<ApiEnv> {
  return async function guardRate(c, next) {
    await quotas.countRequest(c.get('caller'));
    await next();
  };
}

/** For routes that create jobs: limits the requests of a key before the body is read. */
export function guardQuota(quotas: Quotas): MiddlewareHandler<ApiEnv> {
  return async function guardQuota(c, next) {
    await quotas.admitRequest(c.get('caller'), c.req.header('idempotency-key'));
    await next();
  };
}

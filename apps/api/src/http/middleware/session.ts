/** The session of a request, and the proof that the request comes from the studio's own page. */
import { LehrError } from '@lehr/shared';
import type { Context } from 'hono';
import { CSRF_HEADER, isCsrfOf, isUnsafe } from '../../access/session/csrf.ts';
import type { Session, SessionStore } from '../../access/session/session-store.ts';
import type { ApiEnv } from './api-env.ts';
import type { SessionCookie } from './session-cookie.ts';

export async function findSession(
  c: Context<ApiEnv>,
  sessions: SessionStore,
  cookie: SessionCookie,
): Promise<Session | undefined> {
  const token = cookie.read(c);
  return token === undefined ? undefined : sessions.find(token);
}

/** Throws `forbidden` for a request that changes something without the token of its session. */
export function refuseForeignPage(c: Context<ApiEnv>, { token }: Session): void {
  if (!isUnsafe(c.req.method) || isCsrfOf(token, c.req.header(CSRF_HEADER))) return;
  throw new LehrError('forbidden', `This request lacks the token of its session (${CSRF_HEADER}).`);
}

/** Throws `forbidden` for a request that a page of another origin has made. Clients that are no browsers send neither header. */
export function refuseForeignOrigin(c: Context<ApiEnv>, publicUrl: string): void {
  const site = c.req.header('sec-fetch-site');
  const origin = c.req.header('origin');
  const own = [new URL(c.req.url).origin, new URL(publicUrl).origin];
  const isForeign = origin !== undefined && !own.includes(origin) && site !== 'same-origin';
  if (!isForeign && (site === undefined || site === 'same-origin' || site === 'none')) return;
  throw new LehrError('forbidden', 'Sign in from the page of this server.');
}

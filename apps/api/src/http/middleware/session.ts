/** The session of a request: its cookie, and the proof that the request comes from the studio's own page. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { LehrError } from '@lehr/shared';
import type { Context } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import type { Session, SessionStore } from '../../access/session/session-store.ts';
import type { ApiEnv } from './api-env.ts';

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

/**
 * The token that a session must send with every request that changes something. A page of another site can make a browser send the
 * cookie, but it can read neither the cookie nor the token.
 */
const CSRF_HEADER = 'x-lehr-csrf';

/** Derived from the session's token, so that it needs no place in Redis. */
export const csrfOf = (sessionToken: string): string =>
  createHmac('sha256', sessionToken).update('csrf').digest('base64url');

/** Compares in constant time. */
function isCsrfOf(sessionToken: string, given: string | undefined): boolean {
  const [wanted, found] = [Buffer.from(csrfOf(sessionToken)), Buffer.from(given ?? '')];
  return wanted.length === found.length && timingSafeEqual(wanted, found);
}

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);
export const isUnsafe = (method: string): boolean => !SAFE_METHODS.has(method);

export interface SessionCookie {
  read(c: Context<ApiEnv>): string | undefined;
  /** `expiresAt` in ms since the epoch. */
  write(c: Context<ApiEnv>, token: string, expiresAt: number): void;
  clear(c: Context<ApiEnv>): void;
}

/**
 * Over https the name has the prefix `__Host-`, so that no other host of the domain can set it. Ports do not separate cookies, so
 * without https the name has the port: installations on one machine keep their sessions apart.
 */
export function sessionCookie(publicUrl: string): SessionCookie {
  const { protocol, port } = new URL(publicUrl);
  const secure = protocol === 'https:';
  const name = secure ? '__Host-lehr-session' : `lehr-session-${port || '80'}`;
  const options = { path: '/', httpOnly: true, sameSite: 'Strict', secure } as const;
  return {
    read: (c) => getCookie(c, name),
    write: (c, token, expiresAt) => setCookie(c, name, token, { ...options, expires: new Date(expiresAt) }),
    clear: (c) => void deleteCookie(c, name, options),
  };
}

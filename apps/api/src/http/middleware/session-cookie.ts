/** The cookie that holds the token of a session. */
import type { Context } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import type { ApiEnv } from './api-env.ts';

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

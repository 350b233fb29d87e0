/**
 * The token that a session must send with every request that changes something. A page of another site can make a browser send the
 * cookie, but it can read neither the cookie nor the token.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';

export const CSRF_HEADER = 'x-lehr-csrf';

/** Derived from the session's token, so that it needs no place in Redis. */
export const csrfOf = (sessionToken: string): string =>
  createHmac('sha256', sessionToken).update('csrf').digest('base64url');

/** Compares in constant time. */
export function isCsrfOf(sessionToken: string, given: string | undefined): boolean {
  const [wanted, found] = [Buffer.from(csrfOf(sessionToken)), Buffer.from(given ?? '')];
  return wanted.length === found.length && timingSafeEqual(wanted, found);
}

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);
export const isUnsafe = (method: string): boolean => !SAFE_METHODS.has(method);

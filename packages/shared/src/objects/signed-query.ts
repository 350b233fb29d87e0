/** What links that carry their own right have in common: an end and a signature, `?expires=<unix s>&sig=<base64url>`. */
import { createHmac, timingSafeEqual } from 'node:crypto';

/** `expired` is only said of a link whose signature is right: nobody learns anything by guessing. */
export type QueryVerdict =
  | { readonly outcome: 'ok'; readonly expiresAtS: number }
  | { readonly outcome: 'expired' }
  | { readonly outcome: 'invalid' };

/** HMAC-SHA256 over the lines; the first names the kind of link, so that none passes for another kind. */
export function signature(secret: string, lines: readonly (string | number)[]): string {
  return createHmac('sha256', secret).update(lines.join('\n')).digest('base64url');
}

/** `linesFor` gives what should have been signed for the stated end. `nowMs` is ms since the epoch. */
export function checkQuery(
  secret: string,
  query: URLSearchParams,
  nowMs: number,
  linesFor: (expiresAtS: number) => readonly (string | number)[],
): QueryVerdict {
  const expires = onlyOne(query, 'expires');
  const given = onlyOne(query, 'sig');
  if (!given || !expires || !/^[1-9]\d{0,11}$/.test(expires)) return { outcome: 'invalid' };
  const expiresAtS = Number(expires);
  if (!sameText(given, signature(secret, linesFor(expiresAtS)))) return { outcome: 'invalid' };
  return nowMs >= expiresAtS * 1000 ? { outcome: 'expired' } : { outcome: 'ok', expiresAtS };
}

/** A parameter that stands there twice is nobody's: undefined. */
export function onlyOne(query: URLSearchParams, name: string): string | undefined {
  const values = query.getAll(name);
  return values.length === 1 ? values[0] : undefined;
}

/** Texts and not decoded bytes, because base64url spells the same bytes in more than one way. */
function sameText(given: string, wanted: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(wanted)];
  return a.length === b.length && timingSafeEqual(a, b);
}

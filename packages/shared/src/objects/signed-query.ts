/** Signing and checking of link queries: an expiry and a signature, `?expires=<unix s>&sig=<base64url>`. */
import { createHmac, timingSafeEqual } from 'node:crypto';

/** `expired` only for a link with a correct signature, so that guessing reveals nothing. */
export type QueryVerdict =
  | { readonly outcome: 'ok'; readonly expiresAtS: number }
  | { readonly outcome: 'expired' }
  | { readonly outcome: 'invalid' };

/** HMAC-SHA256 over the lines. The first line names the kind of link, so that no link is valid as another kind. */
export function signature(secret: string, lines: readonly (string | number)[]): string {
  return createHmac('sha256', secret).update(lines.join('\n')).digest('base64url');
}

/** `linesFor` returns the lines that must have been signed for this expiry. `nowMs` is ms since the epoch. */
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

/** The value of a parameter; undefined when it is missing or given more than once. */
export function onlyOne(query: URLSearchParams, name: string): string | undefined {
  const values = query.getAll(name);
  return values.length === 1 ? values[0] : undefined;
}

/** Compares the texts and not the decoded bytes, because base64url can spell the same bytes in more than one way. */
function sameText(given: string, wanted: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(wanted)];
  return a.length === b.length && timingSafeEqual(a, b);
}

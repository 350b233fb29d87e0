/**
 * Signed links to objects in a folder store. The signature alone gives access, because clients that follow links send no API
 * key: `<publicUrl>/objects/<key>?expires=<unix s>&name=<file name>&sig=<base64url>`, where `sig` is HMAC-SHA256 over key,
 * expiry and name. The method is not signed, so HEAD works on the link of a GET.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { ObjectKey } from '../base/ids.ts';
import { asObjectKey, type ObjectInfo } from './store.ts';

export interface LinkClaims {
  readonly key: ObjectKey;
  /** Unix seconds; from then on the link is refused. */
  readonly expiresAtS: number;
  readonly filename?: string;
}

export type LinkVerdict =
  | ({ readonly outcome: 'ok' } & LinkClaims)
  | { readonly outcome: 'expired' }
  | { readonly outcome: 'invalid' };

const MIN_SECRET_LENGTH = 32;

export function checkLinkSecret(secret: string): void {
  if (secret.length >= MIN_SECRET_LENGTH) return;
  throw new Error(`The link secret has ${secret.length} characters. Wanted at least ${MIN_SECRET_LENGTH}.`);
}

/** The absolute link; `publicUrl` may have a path. */
export function signLink(publicUrl: string, secret: string, claims: LinkClaims): string {
  const url = new URL(`objects/${claims.key}`, publicUrl.endsWith('/') ? publicUrl : `${publicUrl}/`);
  url.searchParams.set('expires', String(claims.expiresAtS));
  if (claims.filename) url.searchParams.set('name', claims.filename);
  url.searchParams.set('sig', signature(secret, linesOf(claims)));
  return url.href;
}

/**
 * Whether a request for `key` (the path after `/objects/`, as received) may be answered.
 * `nowMs` is ms since the epoch.
 */
export function verifyLink(secret: string, key: string, query: URLSearchParams, nowMs: number): LinkVerdict {
  const objectKey = asObjectKey(key);
  if (!objectKey) return { outcome: 'invalid' };
  const filename = onlyOne(query, 'name');
  const named = { key: objectKey, ...(filename && { filename }) };
  const verdict = checkQuery(secret, query, nowMs, (expiresAtS) => linesOf({ ...named, expiresAtS }));
  return verdict.outcome === 'ok' ? { ...verdict, ...named } : verdict;
}

/**
 * The headers of a 200 for an object read through a link. Its bytes may come from a user, so no browser may guess their type,
 * run them, or store them in a shared cache.
 */
export function objectHeaders(object: ObjectInfo, filename: string | undefined): Record<string, string> {
  return {
    'content-type': object.contentType,
    'content-length': String(object.bytes),
    etag: `"${object.sha256}"`,
    'cache-control': 'private',
    'content-security-policy': "default-src 'none'; sandbox",
    'x-content-type-options': 'nosniff',
    ...(filename && { 'content-disposition': contentDisposition(filename) }),
  };
}

/** RFC 6266: an ASCII name for old clients, and the full name as RFC 5987 percent-encoded UTF-8. */
export function contentDisposition(filename: string): string {
  // Through a Buffer, because a lone surrogate would make encodeURIComponent throw.
  const name = Buffer.from(filename.slice(0, 200)).toString();
  const ascii = name.replace(/[^A-Za-z0-9 ._()-]/gu, '_');
  const encoded = encodeURIComponent(name).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encoded}`;
}

/** The name comes last, because only it can contain a line break: so the lines can be split in one way only. */
const linesOf = ({ key, expiresAtS, filename = '' }: LinkClaims) => [
  'lehr-link-1',
  key,
  expiresAtS,
  filename,
];

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
function onlyOne(query: URLSearchParams, name: string): string | undefined {
  const values = query.getAll(name);
  return values.length === 1 ? values[0] : undefined;
}

/** Compares the texts and not the decoded bytes, because base64url can spell the same bytes in more than one way. */
function sameText(given: string, wanted: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(wanted)];
  return a.length === b.length && timingSafeEqual(a, b);
}

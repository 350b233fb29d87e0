/** What every store asks of its arguments before it touches anything. */
import { type ObjectKey, toObjectKey } from '../ids.ts';
import type { LinkOptions, PutOptions } from './store.ts';

/** Written and deleted again by `check()`. */
export const HEALTH_KEY = toObjectKey('lehr-health/probe');

const DEFAULT_LINK_LIFETIME_S = 15 * 60;
const MAX_LINK_LIFETIME_S = 7 * 24 * 3600;
/** `type/subtype` with optional parameters: it is sent as a header, so no control characters. */
const CONTENT_TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(?:; ?[\x20-\x7e]+)?$/;

/** The brand is only a promise of the compiler; this also holds for a key that was cast. */
export function checkKey(key: ObjectKey): void {
  toObjectKey(key);
}

/** Whether a store takes it. */
export const isContentType = (text: string): boolean => text.length <= 255 && CONTENT_TYPE.test(text);

export function checkContentType({ contentType }: PutOptions): void {
  if (!isContentType(contentType)) {
    throw new Error(`Not a content type: ${JSON.stringify(contentType)}. Wanted "type/subtype".`);
  }
}

/** The prefix's segments. */
export function checkPrefix(prefix: string): readonly string[] {
  if (!prefix.endsWith('/'))
    throw new Error(`Not a prefix: ${JSON.stringify(prefix)}. Wanted a key and "/".`);
  return toObjectKey(prefix.slice(0, -1)).split('/');
}

export function checkLifetimeS({ expiresInS = DEFAULT_LINK_LIFETIME_S }: LinkOptions): number {
  if (!Number.isInteger(expiresInS) || expiresInS < 1 || expiresInS > MAX_LINK_LIFETIME_S) {
    throw new Error(
      `Not a link lifetime: ${expiresInS} s. Wanted a whole number from 1 to ${MAX_LINK_LIFETIME_S}.`,
    );
  }
  return expiresInS;
}

/** Undefined for a name that Lehr cannot have written, so that listing a shared bucket or folder goes on. */
export function asObjectKey(value: string): ObjectKey | undefined {
  try {
    return toObjectKey(value);
  } catch {
    return undefined;
  }
}

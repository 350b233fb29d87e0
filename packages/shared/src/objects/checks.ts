/** Checks of the arguments of every store, before it does any I/O. */
import { type ObjectKey, toObjectKey } from '../base/ids.ts';
import type { LinkOptions, PutOptions } from './store.ts';

/** The object that `check()` writes and deletes. */
export const HEALTH_KEY = toObjectKey('lehr-health/probe');

const DEFAULT_LINK_LIFETIME_S = 15 * 60;
const MAX_LINK_LIFETIME_S = 7 * 24 * 3600;
/** `type/subtype` with optional parameters. Without control characters, because it is sent as a header. */
const CONTENT_TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(?:; ?[\x20-\x7e]+)?$/;

/** Throws for a string that was cast to ObjectKey without being one. */
export function checkKey(key: ObjectKey): void {
  toObjectKey(key);
}

/** Whether a store accepts this content type. */
export const isContentType = (text: string): boolean => text.length <= 255 && CONTENT_TYPE.test(text);

export function checkContentType({ contentType }: PutOptions): void {
  if (!isContentType(contentType)) {
    throw new Error(`Not a content type: ${JSON.stringify(contentType)}. Wanted "type/subtype".`);
  }
}

/** Returns the segments of the prefix. */
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

/** Undefined for a name that no store wrote, so that a shared bucket or folder can still be listed. */
export function asObjectKey(value: string): ObjectKey | undefined {
  try {
    return toObjectKey(value);
  } catch {
    return undefined;
  }
}

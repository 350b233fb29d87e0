/**
 * The interface of object stores, which hold inputs and outputs. `folder.ts` and `s3.ts` implement it, and
 * test/contracts/object-store.test.ts tests both.
 *
 * A key is a relative path of segments `[A-Za-z0-9._-]+` joined by `/`, without `.` or `..` segments. Every method
 * checks its key again and rejects a bad one before it does any I/O. Every other failure is a LehrError `storage-failed` with
 * its cause.
 */
import { type ObjectKey, toObjectKey } from '../base/ids.ts';

export interface ObjectInfo {
  readonly key: ObjectKey;
  readonly bytes: number;
  readonly contentType: string;
  /** SHA-256 of the body, lower-case hex. */
  readonly sha256: string;
}

export interface PutOptions {
  readonly contentType: string;
  /** Aborting rejects the put with the signal's reason; nothing half-written becomes readable. */
  readonly signal?: AbortSignal;
}

export interface LinkOptions {
  /** Default 15 minutes, at most 7 days (the limit of S3). */
  readonly expiresInS?: number;
  /** Returned as Content-Disposition, so that a browser saves the file under this name. Any Unicode. */
  readonly filename?: string;
}

export interface StoredObject extends ObjectInfo {
  /** Keeps a file or a socket open until it is read to its end or cancelled; the caller must do one of them. */
  readonly body: ReadableStream<Uint8Array>;
}

export interface ObjectStore {
  /** Stores the bytes whole or not at all; storing the same key again replaces it. */
  put(key: ObjectKey, body: Uint8Array, options: PutOptions): Promise<ObjectInfo>;
  /** Undefined when the object does not exist. */
  get(key: ObjectKey): Promise<StoredObject | undefined>;
  /** Stores an object under a second key as well, without its bytes in memory. Returns false when it does not exist. */
  copy(from: ObjectKey, to: ObjectKey): Promise<boolean>;
  /** A signed link that gives read access until it expires. Does not check that the object exists. */
  link(key: ObjectKey, options?: LinkOptions): Promise<string>;
  /** Deleting a missing object succeeds. */
  delete(key: ObjectKey): Promise<void>;
  /** Deletes any number of objects in bulk. If some cannot be deleted, it deletes all others and then rejects with the first failure. */
  deleteMany(keys: readonly ObjectKey[]): Promise<void>;
  /** Every key below a prefix that ends in `/`, in no particular order. Names that no store wrote are skipped. */
  list(prefix: string): AsyncIterable<ObjectKey>;
  /**
   * The outputs and uploads (`out/<tenant>/<id>...`, `in/<tenant>/<id>...`) whose job or file was made before this time (unix ms),
   * in slices of at most 1000. Those of one slice may be deleted before the next is read. Its cost grows with what it finds and
   * with the number of tenants, not with the number of younger objects.
   */
  listMadeBefore(before: number): AsyncIterable<readonly ObjectKey[]>;
  /** Rejects when the store cannot take a write now; /readyz calls this. */
  check(): Promise<void>;
}

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

/**
 * Deletes outputs and uploads made before `before` (unix ms); returns how many. Objects with other keys stay. If some cannot be
 * deleted, it deletes all others and then rejects with the first failure.
 */
export async function sweepObjects(
  store: ObjectStore,
  before: number,
  signal?: AbortSignal,
): Promise<number> {
  let removed = 0;
  const failures: unknown[] = [];
  for await (const keys of store.listMadeBefore(before)) {
    if (signal?.aborted) return removed;
    try {
      await store.deleteMany(keys);
      removed += keys.length;
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
  return removed;
}

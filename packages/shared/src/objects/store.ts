/**
 * Where outputs live: the port that `folder.ts` and `s3.ts` fill. test/contracts/object-store.test.ts holds both to it.
 *
 * A key is a relative path of segments `[A-Za-z0-9._-]+` joined by `/`, without `.` or `..` segments. Every method
 * checks its key again and rejects a bad one before anything is touched. Whatever else goes wrong is a LehrError
 * `storage-failed`, which keeps its cause.
 */
import type { ObjectKey } from '../ids.ts';

export interface ObjectInfo {
  readonly key: ObjectKey;
  readonly bytes: number;
  readonly contentType: string;
  /** Of the body, lower-case hex. */
  readonly sha256: string;
}

export interface PutOptions {
  readonly contentType: string;
  /** Aborting rejects the put with the signal's reason; nothing half-written becomes readable. */
  readonly signal?: AbortSignal;
}

export interface LinkOptions {
  /** 15 minutes unless said otherwise, at most 7 days (S3 signs no longer). */
  readonly expiresInS?: number;
  /** Sent back as Content-Disposition, so that a browser saves under this name. Any Unicode. */
  readonly filename?: string;
}

export interface StoredObject extends ObjectInfo {
  /** Holds a file or a socket open until it is read to its end or cancelled: do one of the two. */
  readonly body: ReadableStream<Uint8Array>;
}

export interface ObjectStore {
  /** Stores the bytes whole or not at all; storing the same key again replaces it. */
  put(key: ObjectKey, body: Uint8Array, options: PutOptions): Promise<ObjectInfo>;
  /** Undefined when there is no such object. */
  get(key: ObjectKey): Promise<StoredObject | undefined>;
  /** A link that carries its own right to be read, until it expires. Whether the object exists is not asked. */
  link(key: ObjectKey, options?: LinkOptions): Promise<string>;
  /** Deleting what is not there succeeds. */
  delete(key: ObjectKey): Promise<void>;
  /** Every key below a prefix that ends in `/`, in no particular order. What no store wrote is passed over. */
  list(prefix: string): AsyncIterable<ObjectKey>;
  /** Rejects when the store cannot take a write now; /readyz asks this. */
  check(): Promise<void>;
}

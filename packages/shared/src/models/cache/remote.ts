/**
 * What every source of models offers: a list of files, and each file from an offset on. hub-remote.ts, s3-remote.ts,
 * and open-remote.ts implement it.
 */
import type { Readable } from 'node:stream';
import { LehrError } from '../../base/errors.ts';

/** The hash that a source names for a file: that of its bytes, or git's, which also covers the length. */
export interface Digest {
  readonly kind: 'sha256' | 'git-sha1';
  readonly hex: string;
}

export interface RemoteFile {
  /** Relative to the model's folder, with slashes. */
  readonly path: string;
  readonly bytes: number;
  /** Absent when the source names none. */
  readonly digest?: Digest;
}

export interface Listing {
  /** Differs when the files differ: a commit, or a digest of the list. */
  readonly revision: string;
  readonly files: readonly RemoteFile[];
}

export interface OpenedFile {
  /** Where the body begins: 0 when the source ignored the offset. */
  readonly offset: number;
  readonly body: Readable;
}

/** Errors with code `unavailable` or `rate-limited` may pass; all others are final. */
export interface Remote {
  /** `only` is the path of the one file that is wanted: others may be left out. */
  list(signal: AbortSignal, only?: string): Promise<Listing>;
  /**
   * `listing` is what `list` returned. A hub reads the file of that revision. Buckets, web servers and folders have only the present
   * file, so they must not change during a fetch.
   */
  open(file: RemoteFile, offset: number, listing: Listing, signal: AbortSignal): Promise<OpenedFile>;
}

const MAX_SEGMENT_BYTES = 255;

/** A path becomes part of a path on this machine. Throws `model-unavailable` when it could lead out of the folder. */
export function checkPath(path: string): string {
  const isSafe = path
    .split('/')
    .every(
      (segment) =>
        segment !== '' &&
        segment !== '.' &&
        segment !== '..' &&
        Buffer.byteLength(segment) <= MAX_SEGMENT_BYTES &&
        !/[\\\p{Cc}:]/u.test(segment),
    );
  if (isSafe) return path;
  throw new LehrError(
    'model-unavailable',
    `The source lists a file ${JSON.stringify(path.slice(0, 200))}, which cannot be a path here: its parts must not be empty, ".", ".." or longer than ${MAX_SEGMENT_BYTES} bytes, nor contain "\\\\", ":" or control characters.`,
  );
}

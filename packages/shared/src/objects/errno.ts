/** What the file system said, as the house's error. */
import { LehrError } from '../errors.ts';

const WORDS: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EFBIG: 'the file would be larger than allowed',
  EROFS: 'the file system is read-only',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  ENOENT: 'the folder is gone',
  ENOTDIR: 'a file stands where a folder belongs',
  EEXIST: 'a file stands where a folder belongs',
  ENAMETOOLONG: 'a segment of the key is too long for this file system',
};

/** A job's owner may read the message, so it holds no path; the cause does. */
export function storageFailed(what: string, error: unknown): LehrError {
  const code = codeOf(error);
  const said = error instanceof Error ? error.message : String(error);
  const why = code ? `${WORDS[code] ?? 'the file system refused'} (${code}).` : said;
  return new LehrError('storage-failed', `${what}: ${why}`, { cause: error });
}

/** The system's name for an error of `node:fs`, undefined for any other error. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'errno' in error && 'code' in error ? String(error.code) : undefined;
}

/** For `catch`: undefined for these codes, the error again for any other. */
export function ignore(...codes: readonly string[]): (error: unknown) => undefined {
  return (error) => {
    if (!codes.includes(codeOf(error) ?? '')) throw error;
  };
}

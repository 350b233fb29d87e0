/** Errors of the file system as LehrErrors. */
import { LehrError } from '../base/errors.ts';

const REASONS: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EFBIG: 'the file would be larger than allowed',
  EROFS: 'the file system is read-only',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  ENOENT: 'the folder is gone',
  ENOTDIR: 'a file is in the place of a folder',
  EEXIST: 'a file is in the place of a folder',
  ENAMETOOLONG: 'a segment of the key is too long for this file system',
};

/** The message may be shown to the job's caller, so it has no path; the cause has it. */
export function storageFailed(what: string, error: unknown): LehrError {
  const code = codeOf(error);
  const text = error instanceof Error ? error.message : String(error);
  const why = code ? `${REASONS[code] ?? 'the file system refused'} (${code}).` : text;
  return new LehrError('storage-failed', `${what}: ${why}`, { cause: error });
}

/** The system's code for an error of `node:fs`; undefined for any other error. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'errno' in error && 'code' in error ? String(error.code) : undefined;
}

/** For `catch`: resolves with undefined for these codes and throws every other error again. */
export function ignore(...codes: readonly string[]): (error: unknown) => undefined {
  return (error) => {
    if (!codes.includes(codeOf(error) ?? '')) throw error;
  };
}

/** The file that an import is given: a path of this machine, or where it is fetched from. And what goes wrong with files. */
import { existsSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { LehrError } from '@lehr/shared';
import { fetchFile, parseTypedFile, slugOf, sourceName } from '@lehr/shared/model-cache';
import type { ToolEvent } from './tool-event.ts';
import type { ToolSettings } from './tool-settings.ts';

export interface FileRequest {
  /** A path, or where it is fetched from. */
  readonly file: string;
  /** Branch, tag or commit of a repository of the hub. */
  readonly revision?: string | undefined;
  /** The folder that relative paths start from. */
  readonly cwd: string;
  /** What it becomes; absent: as the file. */
  readonly as?: string | undefined;
}

export interface GivenFile {
  readonly path: string;
  /** Of what it becomes. */
  readonly name: string;
  /** Of a file that was fetched for this import. */
  readonly remove?: () => Promise<void>;
}

/** Of what is fetched for an import, in the folder that it writes to; no model has such a name. */
const FETCHED = '.fetched';
/** Names that programs give all their files: that of the folder says more. */
const GENERAL = /^(?:adapter_model|pytorch_lora_weights)$/;
const NEVER = new AbortController().signal;

/** A file that is here comes before one of the hub with the same path. `check` refuses a name before some gigabytes are fetched for nothing. */
export async function givenFile(
  { file, revision, cwd, as }: FileRequest,
  home: string,
  settings: ToolSettings,
  report: (event: ToolEvent) => void,
  check: (name: string) => Promise<unknown>,
): Promise<GivenFile> {
  const path = resolve(cwd, file);
  const remote = existsSync(path) ? undefined : parseTypedFile(file, revision);
  const own = slugOf(basename(remote?.name ?? path).replace(/\.safetensors$/, ''));
  const around = remote ? sourceName(remote.source) : slugOf(basename(dirname(path)));
  const name = as ?? (GENERAL.test(own) ? around : own);
  await check(name);
  if (!remote) {
    if (revision === undefined) return { path, name };
    throw new LehrError('invalid-request', `${path} is a file of this machine, which has no revisions.`);
  }
  report({ type: 'stage', verb: 'fetch' });
  const options = { ...settings.cache, signal: NEVER, onEvent: report };
  const fetched = await fetchFile(remote, join(home, FETCHED), options).catch((error: unknown) => {
    throw file.includes('://') ? error : orNotHere(error, path);
  });
  report({ type: 'stage', verb: 'import' });
  return { ...fetched, name };
}

/** A path with a slip of the pen may look like one of the hub. */
function orNotHere(error: unknown, path: string): unknown {
  if (!(error instanceof LehrError) || !['not-found', 'unauthenticated'].includes(error.code)) return error;
  const message = `${path} is not a file, and it was not found on the hub: ${error.message}`;
  return new LehrError(error.code, message, { cause: error });
}

/** An error of a file as one sentence; every other error as it is. */
export function ofFileSystem(error: unknown, home: string, file: string): unknown {
  const { code = '', path } = error instanceof Error ? (error as NodeJS.ErrnoException) : {};
  if (!/^E[A-Z0-9]+$/.test(code)) return error;
  const what = code === 'ENOENT' ? `${path ?? 'A file'} is not there any more` : WRITE_ERRORS[code];
  const text = what ?? `${path ?? basename(file)} cannot be used (${code})`;
  return new LehrError('storage-failed', `${text}; nothing of it stays in ${home}.`, { cause: error });
}

const WRITE_ERRORS: Readonly<Record<string, string>> = {
  ENOSPC: 'The disk is full',
  EDQUOT: 'The disk quota is used up',
  EFBIG: 'A file would be larger than allowed',
  EROFS: 'The file system is read-only',
  EACCES: 'Permission was denied',
};

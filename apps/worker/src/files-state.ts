/** Shows whether the files of a model folder were written or replaced. */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { LehrError } from '@lehr/shared';

/** Of a fetched folder (@lehr/shared/model-cache). Its times change while the model is used. */
const MANIFEST = 'lehr-model.json';

/** Device, inode, size in bytes and time of the last write of each file in a folder, by its path below the folder. */
export type FilesState = ReadonlyMap<string, string>;

/** Of a link, the state of the file that it leads to. Empty when there is no folder. */
export async function filesState(folder: string): Promise<FilesState> {
  const names = await readdir(folder, { recursive: true }).catch(() => []);
  const states = names
    .filter((name) => name !== MANIFEST)
    .sort()
    .map(async (name) => [name, await fileState(join(folder, name))] as const);
  return new Map(await Promise.all(states));
}

/** Throws LehrError `model-unavailable` when a file that was there `before` is not the same any more. */
export async function refuseChanged(folder: string, before: FilesState): Promise<void> {
  const now = await filesState(folder);
  const changed = [...before].find(([name, state]) => now.get(name) !== state)?.[0];
  if (changed === undefined) return;
  throw new LehrError(
    'model-unavailable',
    `${join(folder, changed)} was changed while the model was opened; replace a folder by renaming a new one.`,
  );
}

/**
 * The path of a file that was written in place since `before`: the same file of the disk with another size or time. A file that was
 * replaced by rename is another one, and whoever has opened the earlier one keeps it.
 */
export async function writtenInPlace(folder: string, before: FilesState): Promise<string | undefined> {
  const now = await filesState(folder);
  const name = [...before].find(([path, state]) => {
    const current = now.get(path);
    return current !== undefined && current !== state && fileOf(current) === fileOf(state);
  })?.[0];
  return name && join(folder, name);
}

/** Device and inode. */
const fileOf = (state: string): string => state.split(' ', 2).join(' ');

async function fileState(path: string): Promise<string> {
  const file = await stat(path, { bigint: true }).catch(() => undefined);
  if (!file) return 'missing';
  // A new file in a folder changes the time of the folder.
  if (file.isDirectory()) return 'folder';
  return `${file.dev} ${file.ino} ${file.size} ${file.mtimeNs}`;
}

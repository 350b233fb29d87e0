/**
 * The directories of a folder store. Symbolic links inside the folder are neither followed nor listed.
 *
 * The check happens before use and is not atomic: it protects against existing links, not against a process that replaces a
 * directory by a link in between. Such a process could change the objects directly.
 */
import { constants } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, readdir, realpath, rename, rmdir } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { codeOf, ignore } from './errno.ts';

/** A concurrent delete may remove the directory between mkdir and rename, but not this many times in a row. */
const MAX_RENAMES = 10;

/**
 * Whether every step from the root to `directory` is a real directory (`whole`), one does not exist (`missing`), or one is
 * a file or a link (`blocked`).
 */
async function directoryState(root: string, directory: string): Promise<'whole' | 'missing' | 'blocked'> {
  // In one call instead of one for each step; a link on the way would change the path. The last part makes a file fail.
  const real = await realpath(`${directory}${sep}.`).catch(() => undefined);
  if (real === directory) return 'whole';
  let path = root;
  for (const step of directory.slice(root.length).split(sep).filter(Boolean)) {
    path = join(path, step);
    const found = await lstat(path).catch(ignore('ENOENT'));
    if (!found) return 'missing';
    if (!found.isDirectory()) return 'blocked';
  }
  return 'whole';
}

/** Renames `from` to `to` and creates the directories it needs. */
export async function moveInto(root: string, from: string, to: string): Promise<void> {
  for (let left = MAX_RENAMES; ; left--) {
    if ((await directoryState(root, dirname(to))) === 'blocked') {
      throw new Error('a link or a file is in the place of a directory');
    }
    try {
      await mkdir(dirname(to), { recursive: true });
      await rename(from, to);
      return;
    } catch (error) {
      if (codeOf(error) !== 'ENOENT' || left === 1) throw error;
    }
  }
}

/** Undefined when the file does not exist or is a link. */
export async function openInside(root: string, path: string): Promise<FileHandle | undefined> {
  if ((await directoryState(root, dirname(path))) !== 'whole') return undefined;
  return open(path, constants.O_RDONLY | constants.O_NOFOLLOW).catch(ignore('ENOENT', 'ELOOP'));
}

/** False when a directory on the way is missing or a link. */
export async function isInside(root: string, directory: string): Promise<boolean> {
  return (await directoryState(root, directory)) === 'whole';
}

/** Every file at or below `directory`, as a path with `/` from there. */
export async function* walk(directory: string, below = ''): AsyncIterable<string> {
  // A sweep deletes while it lists, so a directory may be gone when the walk reaches it.
  const entries = (await readdir(directory, { withFileTypes: true }).catch(ignore('ENOENT'))) ?? [];
  for (const entry of entries) {
    if (entry.isFile()) yield below + entry.name;
    else if (entry.isDirectory()) yield* walk(join(directory, entry.name), `${below}${entry.name}/`);
  }
}

/** Removes `directory` and its parents, up to the root or the first one that is not empty. */
export async function removeEmpty(root: string, directory: string): Promise<void> {
  for (let empty = directory; empty !== root; empty = dirname(empty)) {
    try {
      await rmdir(empty);
    } catch (error) {
      // ENOENT: a concurrent call removed it and continues with its parents.
      return ignore('ENOTEMPTY', 'EEXIST', 'ENOENT')(error);
    }
  }
}

/** Makes a rename durable; the directories above were created earlier in the same journal. */
export async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, constants.O_RDONLY).catch(ignore('ENOENT'));
  try {
    await handle?.sync();
  } finally {
    await handle?.close();
  }
}

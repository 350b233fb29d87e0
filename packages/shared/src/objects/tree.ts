/**
 * The directories of a folder store. Links inside the tree are neither followed nor listed.
 *
 * That is asked before use, not held: it guards against links that were put there, not against somebody who swaps
 * them in while we work; who can do that can write the objects as well.
 */
import { constants } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, readdir, rename, rmdir } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { codeOf, ignore } from './errno.ts';

/** A delete next door may remove a directory between our mkdir and our rename; it cannot win for ever. */
const MAX_RENAMES = 10;

/**
 * Whether every step from the root down to `directory` is a directory of its own, some step is still missing, or
 * something else stands there.
 */
async function standing(root: string, directory: string): Promise<'whole' | 'missing' | 'blocked'> {
  let path = root;
  for (const step of directory.slice(root.length).split(sep).filter(Boolean)) {
    path = join(path, step);
    const found = await lstat(path).catch(ignore('ENOENT'));
    if (!found) return 'missing';
    if (!found.isDirectory()) return 'blocked';
  }
  return 'whole';
}

/** Renames `from` to `to`, making the directories it needs. */
export async function moveInto(root: string, from: string, to: string): Promise<void> {
  for (let left = MAX_RENAMES; ; left--) {
    if ((await standing(root, dirname(to))) === 'blocked') {
      throw new Error('a link or a file stands where a directory belongs');
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

/** Undefined where there is no file, or only a link to one. */
export async function openInside(root: string, path: string): Promise<FileHandle | undefined> {
  if ((await standing(root, dirname(path))) !== 'whole') return undefined;
  return open(path, constants.O_RDONLY | constants.O_NOFOLLOW).catch(ignore('ENOENT', 'ELOOP'));
}

/** True unless a step on the way is missing or a link. */
export async function isInside(root: string, directory: string): Promise<boolean> {
  return (await standing(root, directory)) === 'whole';
}

/** Every file at or below `directory`, as a path with `/` from there. */
export async function* walk(directory: string, below = ''): AsyncIterable<string> {
  // A sweeper deletes while it lists, so a directory may be gone by the time it is reached.
  const entries = (await readdir(directory, { withFileTypes: true }).catch(ignore('ENOENT'))) ?? [];
  for (const entry of entries) {
    if (entry.isFile()) yield below + entry.name;
    else if (entry.isDirectory()) yield* walk(join(directory, entry.name), `${below}${entry.name}/`);
  }
}

/** Removes `directory` and those above it, up to the root or the first that still holds something. */
export async function removeEmpty(root: string, directory: string): Promise<void> {
  for (let empty = directory; empty !== root; empty = dirname(empty)) {
    try {
      await rmdir(empty);
    } catch (error) {
      // ENOENT: somebody else removed it and goes on upwards.
      return ignore('ENOTEMPTY', 'EEXIST', 'ENOENT')(error);
    }
  }
}

/** Puts a rename on the disk; the directories above were made earlier in the same journal. */
export async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, constants.O_RDONLY).catch(ignore('ENOENT'));
  try {
    await handle?.sync();
  } finally {
    await handle?.close();
  }
}

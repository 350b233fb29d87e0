/**
 * Where a folder store keeps the objects whose keys contain a time: below a directory for each day, so that finding old ones does not
 * mean reading the names of all.
 *
 *     out/acme/,2026-11-23/job_<ULID>/<lease>/0.png,object    the object out/acme/job_<ULID>/<lease>/0.png
 */
import type { Dirent } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ignore } from './errno.ts';
import { DATED_PREFIXES, dayOf, madeAtOfName, withDay } from './made-at.ts';
import { isInside, walk } from './tree.ts';

const DAY = /^,(\d{4}-\d{2}-\d{2})$/;
const DAY_SEGMENT = /^((?:out|in)\/[^/]+\/),\d{4}-\d{2}-\d{2}\//;

/** Where an object is, below the root of the store. */
export const placeOf = (key: string): string => withDay(key, (day) => `,${day}`) ?? key;

/** The reverse of `placeOf`. */
export const withoutDay = (path: string): string => path.replace(DAY_SEGMENT, '$1');

/** The files of outputs and uploads whose job or file was made before this time (unix ms), as paths with `/` from the root. */
export async function* filesMadeBefore(root: string, before: number, suffix: string): AsyncIterable<string> {
  if (before <= 0) return;
  const lastDay = dayOf(before);
  for (const prefix of DATED_PREFIXES) {
    if (!(await isInside(root, join(root, prefix)))) continue;
    for (const tenant of await entriesOf(join(root, prefix))) {
      if (!tenant.isDirectory()) continue;
      const folder = `${prefix}${tenant.name}/`;
      for (const entry of await entriesOf(join(root, folder))) {
        const day = DAY.exec(entry.name)?.[1];
        if (day === undefined || day > lastDay || !entry.isDirectory()) continue;
        const below = `${folder}${entry.name}/`;
        yield* filesOf(root, below, await entriesOf(join(root, below)), { before, suffix });
      }
    }
  }
}

async function* filesOf(
  root: string,
  folder: string,
  entries: readonly Dirent[],
  { before, suffix }: { readonly before: number; readonly suffix: string },
): AsyncIterable<string> {
  for (const entry of entries) {
    const name =
      entry.isFile() && entry.name.endsWith(suffix) ? entry.name.slice(0, -suffix.length) : entry.name;
    if ((madeAtOfName(name) ?? before) >= before) continue;
    if (entry.isFile()) yield folder + entry.name;
    else if (entry.isDirectory()) yield* walk(join(root, folder, entry.name), `${folder}${entry.name}/`);
  }
}

/** Empty for a directory that a concurrent delete has removed. */
async function entriesOf(directory: string): Promise<Dirent[]> {
  return (await readdir(directory, { withFileTypes: true }).catch(ignore('ENOENT'))) ?? [];
}

/**
 * When the job or file of an object was made: the id in its key contains the time. And where a folder store finds those that are old.
 */
import type { Dirent } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { timeOfId } from '../base/ids.ts';
import { ignore } from './errno.ts';
import { isInside, walk } from './tree.ts';

/** The keys of outputs and of uploads begin with these. */
export const DATED_PREFIXES = ['out/', 'in/'] as const;

/** `<prefix>/<tenant>/<job_, file_ or batch_><ULID>...`. A ULID begins with 0 to 7, or its time would not fit. */
const DATED_KEY = /^((?:out|in)\/[^/]+\/)((?:job|file|batch)_[0-7][0-9a-hjkmnp-tv-z]{25})(?=\/|$)/;
/** The end of the year 9999; a day has four digits for the year. */
const MAX_TIME = 253_402_300_799_999;

/** Unix ms; undefined for a key without the id of a job or file in its place. */
export function madeAt(key: string): number | undefined {
  const id = DATED_KEY.exec(key)?.[2];
  return id === undefined ? undefined : timeOfName(id);
}

/** The same for the name of a directory or file, which is an id. */
function madeAtOfName(name: string): number | undefined {
  return madeAt(`out/t/${name}`);
}

/** The day in UTC, such as `2026-11-23`; days compare as texts. */
const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10);

/** The key with a segment for its day before the id, and that day; undefined for a key without a time. */
function withDay(key: string, segmentOf: (day: string) => string): string | undefined {
  const [, before, id] = DATED_KEY.exec(key) ?? [];
  const at = id === undefined ? undefined : timeOfName(id);
  if (before === undefined || at === undefined) return undefined;
  return `${before}${segmentOf(dayOf(at))}/${key.slice(before.length)}`;
}

/**
 * What sorts after every key of the same tenant and kind of id. In a list that is ordered by key, all between this key and
 * the result is younger than this key or as old.
 */
export function afterYoungerThan(key: string): string {
  const [, before = '', id = ''] = DATED_KEY.exec(key) ?? [];
  return `${before}${id.slice(0, id.indexOf('_') + 1)}~`;
}

function timeOfName(id: string): number | undefined {
  const at = timeOfId(id);
  return at > MAX_TIME ? undefined : at;
}

const DAY = /^,(\d{4}-\d{2}-\d{2})$/;
const DAY_SEGMENT = /^((?:out|in)\/[^/]+\/),\d{4}-\d{2}-\d{2}\//;

/**
 * Where a folder store keeps the objects whose keys contain a time: below a directory for each day, so that finding old ones does not
 * mean reading the names of all.
 *     out/acme/,2026-11-23/job_<ULID>/<lease>/0.png,object    the object out/acme/job_<ULID>/<lease>/0.png
 * Where an object is, below the root of the store.
 */
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

/** When the job or file of an object was made: the id in its key contains the time. */
import { timeOfId } from '../base/ids.ts';

/** The keys of outputs and of uploads begin with these. */
export const DATED_PREFIXES = ['out/', 'in/'] as const;

/** `<prefix>/<tenant>/<job_ or file_><ULID>...`. A ULID begins with 0 to 7, or its time would not fit. */
const DATED_KEY = /^((?:out|in)\/[^/]+\/)((?:job|file)_[0-7][0-9a-hjkmnp-tv-z]{25})(?=\/|$)/;
/** The end of the year 9999; a day has four digits for the year. */
const MAX_TIME = 253_402_300_799_999;

/** Unix ms; undefined for a key without the id of a job or file in its place. */
export function madeAt(key: string): number | undefined {
  const id = DATED_KEY.exec(key)?.[2];
  return id === undefined ? undefined : timeOfName(id);
}

/** The same for the name of a directory or file, which is an id. */
export function madeAtOfName(name: string): number | undefined {
  return madeAt(`out/t/${name}`);
}

/** The day in UTC, such as `2026-11-23`; days compare as texts. */
export const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10);

/** The key with a segment for its day before the id, and that day; undefined for a key without a time. */
export function withDay(key: string, segmentOf: (day: string) => string): string | undefined {
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

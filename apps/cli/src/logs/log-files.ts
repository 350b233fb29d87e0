/** The log files of `npm start`, or those that the caller names. */
import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { CliError, EXIT } from '../exit-codes.ts';

const POLL_MS = 250;
/** A rotated file has a number before its ending. */
const ROTATED = /\.\d+\.log$/;

/** Throws CliError when there are none. */
export async function logFilesIn(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch(() => []);
  const files = names.filter((name) => name.endsWith('.log')).sort();
  if (files.length > 0) return files.map((name) => join(folder, name));
  const message = `There are no logs in ${folder}: name the files, or pipe the logs of your service manager into lehr logs --file -`;
  throw new CliError(EXIT.noInput, message);
}

/** How far a file has been read. */
export interface Place {
  /** Identifies the file, whatever its name becomes. */
  readonly inode: number;
  /** Where the last complete line ends, in bytes. */
  readonly end: number;
}

/** The complete lines of a file. Throws CliError when it cannot be read. */
export async function readLines(path: string): Promise<{ lines: string[]; place: Place }> {
  try {
    const { ino: inode } = await stat(path);
    const { lines, end } = await linesFrom(path, 0);
    return { lines, place: { inode, end } };
  } catch (cause) {
    throw new CliError(EXIT.noInput, `${path} cannot be read: ${(cause as Error).message}`, { cause });
  }
}

/**
 * Calls `onLine` with each line that is added to one of the files, until the signal aborts. A file that was rotated is continued with
 * the new one of its name; lines that the old one got in the moment before are lost.
 */
export async function followFiles(
  read: ReadonlyMap<string, Place>,
  onLine: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const places = new Map([...read].filter(([path]) => !ROTATED.test(path)));
  while (!signal.aborted) {
    for (const [path, place] of places) {
      // There is no file for a moment while it is rotated.
      const found = await stat(path).catch(() => undefined);
      if (!found || (found.ino === place.inode && found.size === place.end)) continue;
      const isSame = found.ino === place.inode && found.size > place.end;
      const added = await linesFrom(path, isSame ? place.end : 0).catch(() => undefined);
      if (!added) continue;
      const { lines, end } = added;
      for (const line of lines) onLine(line);
      places.set(path, { inode: found.ino, end });
    }
    await sleep(POLL_MS, undefined, { signal }).catch(() => {});
  }
}

/** The complete lines from a place on, and where the last of them ends: a line that is still being written has no end yet. */
async function linesFrom(path: string, start: number): Promise<{ lines: string[]; end: number }> {
  const bytes = await buffer(createReadStream(path, { start }));
  const length = bytes.lastIndexOf('\n') + 1;
  const lines = bytes.subarray(0, length).toString('utf8').split('\n').slice(0, -1);
  return { lines, end: start + length };
}

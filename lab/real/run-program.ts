/** The program of `npm run lab -- real` and `npm run lab -- peers`: runs the chosen sections and writes their page. */
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runSection } from './run-section.ts';
import type { Section } from './section.ts';

export interface ComparisonProgram {
  /** The folder that has a folder for each section, and `results`. */
  readonly folder: URL;
  /** In the order of the page. */
  readonly sections: readonly string[];
  /** Where environments and models stay; below the user's cache folder when it is not set. */
  readonly cache: string | undefined;
  readonly cacheName: string;
  /** Relative to the repository's root. */
  readonly page: string;
  /** The text of the page, from the committed results. */
  readonly pageText: () => string;
}

/** The one argument of the process, as JSON. */
interface Request {
  readonly again: boolean;
  /** Part of the names of the comparisons to run. */
  readonly only?: string;
  /** Without a name all sections run. */
  readonly names: readonly string[];
}

const ROOT = new URL('../../', import.meta.url);

/** Runs what the argument of the process asks for, and ends the process: with 1 when a comparison threw. */
export async function runProgram(program: ComparisonProgram): Promise<never> {
  const { folder, sections, cache, cacheName, page, pageText } = program;
  const fileOf = (name: string): string => fileURLToPath(new URL(`${name}/section.ts`, folder));
  const { names: wanted, ...chosen } = JSON.parse(process.argv[2]) as Request;
  const available = sections.filter((name) => existsSync(fileOf(name)));
  // Exit handlers end the programs that a comparison has started; a signal alone would not run them.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
  const broken: string[] = [];
  for (const name of available.filter((each) => wanted.length === 0 || wanted.includes(each))) {
    const { section } = (await import(fileOf(name))) as { section: Section };
    const options = {
      name,
      cache: cache ?? join(homedir(), '.cache', cacheName),
      results: fileURLToPath(new URL('results', folder)),
      ...chosen,
      say: console.error,
    };
    broken.push(...(await runSection(section, options)));
    await writeFile(new URL(page, ROOT), pageText());
  }
  console.error(`${page} has the tables.`);
  if (broken.length > 0) console.error(`These ended with an error: ${broken.join(', ')}.`);
  // A handle that a comparison left open must not keep this process running.
  process.exit(broken.length > 0 ? 1 : 0);
}

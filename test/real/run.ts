/** The program of `npm run real`: runs the chosen sections and writes docs/real-models.md. */
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { readResults, realPage } from './page.ts';
import { runSection } from './run-section.ts';
import { SECTIONS, type Section } from './section.ts';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const fileOf = (name: string): string => here(`./${name}/section.ts`);

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { again: { type: 'boolean', default: false }, only: { type: 'string' } },
});
const available = SECTIONS.filter((name) => existsSync(fileOf(name)));
for (const name of positionals) {
  if (available.every((each) => each !== name)) {
    throw new Error(`There is no section '${name}'. The sections are: ${available.join(', ')}.`);
  }
}
const cache = process.env.REAL_CACHE ?? join(homedir(), '.cache/lehr-real');
const broken: string[] = [];
for (const name of available.filter((each) => positionals.length === 0 || positionals.includes(each))) {
  const { section } = (await import(fileOf(name))) as { section: Section };
  const options = { name, cache, results: here('./results'), ...values, say: console.error };
  broken.push(...(await runSection(section, options)));
  await writeFile(here('../../docs/real-models.md'), realPage(readResults()));
}
if (broken.length > 0) console.error(`These ended with an error: ${broken.join(', ')}.`);
// A handle that a comparison left open must not keep this process running.
process.exit(broken.length > 0 ? 1 : 0);

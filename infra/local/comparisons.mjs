/** Runs a program that compares Lehr with others (npm run real, npm run peers), with what it needs. */
import './node-version.mjs';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, runCommand } from './command.mjs';
import { readCommandLine } from './command-line.mjs';
import { say, signal, stopAndExit, stopOnSignals } from './lifecycle.mjs';
import { ensureBuilt, ensureModules } from './modules.mjs';
import { Problem } from './problem.mjs';
import { ensureServices } from './programs.mjs';

const FROM_SOURCE = ['--conditions=lehr-source', `--import=${join(ROOT, 'infra/local/typescript.mjs')}`];
const OPTIONS = { again: { type: 'boolean', default: false }, only: { type: 'string' } };

/** `name` is that of the npm script; `folder` and `page` are relative to the repository's root. Ends this process. */
export function runComparisons(program) {
  stopOnSignals();
  main(program).catch((error) => stopAndExit(error instanceof Problem ? error.message : error.stack, 1));
}

async function main({ name, does, folder, page }) {
  const sections = sectionsIn(folder);
  const help = () => helpText({ name, does, folder, page, sections });
  const { values, positionals } = await readCommandLine({ options: OPTIONS, help });
  const unknown = positionals.find((each) => !sections.includes(each));
  if (unknown !== undefined) {
    throw new Problem(`There is no section '${unknown}'. The sections are: ${sections.join(', ')}.`);
  }
  await ensureServices({ say, signal });
  await ensureModules({ signal });
  // Sections that start whole processes measure what ships.
  await ensureBuilt({ signal });
  const request = JSON.stringify({ ...values, sections: positionals });
  const command = [...FROM_SOURCE, join(ROOT, folder, 'run.ts'), request];
  const code = await runCommand(process.execPath, command, { signal });
  if (code === 0) say(`${page} has the tables.`);
  process.exit(code);
}

const sectionsIn = (folder) =>
  readdirSync(join(ROOT, folder))
    .filter((name) => existsSync(join(ROOT, folder, name, 'section.ts')))
    .sort();

const helpText = ({
  name,
  does,
  folder,
  page,
  sections,
}) => `Usage: npm run ${name} [-- SECTION ... --only NAME --again]

${does} Writes ${page} and ${folder}/results. Without a section all of them run. What is done on this machine is skipped.

Sections, with those of their comparisons that have results:
${sections.map((section) => `  ${[section, ...comparisonsOf(folder, section)].join('\n    ')}`).join('\n')}

Options:
  --only NAME  the comparisons with this in their name
  --again      repeats what is done
  --help       prints this
`;

/** From the committed results, because the sections themselves need the npm modules. */
function comparisonsOf(folder, section) {
  const file = join(ROOT, folder, 'results', `${section}.json`);
  if (!existsSync(file)) return [];
  return JSON.parse(readFileSync(file, 'utf8')).comparisons.map(({ name, title }) => `${name}: ${title}`);
}

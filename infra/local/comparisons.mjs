/** npm run real and npm run peers [-- SECTION ... --only NAME --again]: compares Lehr with other programs. */
import './node-version.mjs';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, runCommand } from './command.mjs';
import { readCommandLine } from './command-line.mjs';
import { runMain, say, signal } from './lifecycle.mjs';
import { ensureBuilt, ensureModules, fromSource } from './modules.mjs';
import { Problem } from './problem.mjs';
import { ensureServices } from './programs.mjs';

const OPTIONS = { again: { type: 'boolean', default: false }, only: { type: 'string' } };
/** By the name of the npm script, which is also that of the folder in lab/. */
const PROGRAMS = {
  peers: {
    does: 'Compares Lehr with Ray Serve, BentoML, LitServe, FastAPI, Celery and BullMQ; needs Python and about 1.5 GB.',
    page: 'lab/peers.md',
  },
  real: {
    does: 'Compares Lehr with other programs on real models; needs Python, about 20 GB and hours.',
    page: 'lab/real-models.md',
  },
};

runMain(main);

async function main([name, ...args]) {
  const { does, page } = PROGRAMS[name];
  const folder = `lab/${name}`;
  const sections = sectionsIn(folder);
  const help = () => helpText({ name, does, folder, page, sections });
  const { values, positionals } = await readCommandLine({ args, options: OPTIONS, help });
  const unknown = positionals.find((each) => !sections.includes(each));
  if (unknown !== undefined) {
    throw new Problem(`There is no section '${unknown}'. The sections are: ${sections.join(', ')}.`);
  }
  await ensureServices({ say, signal });
  await ensureModules({ signal });
  // Sections that start whole processes measure what ships.
  await ensureBuilt({ signal });
  const request = JSON.stringify({ ...values, sections: positionals });
  const code = await runCommand(process.execPath, fromSource(`${folder}/run.ts`, request), { signal });
  if (code === 0) say(`${page} has the tables.`);
  process.exit(code);
}

function sectionsIn(folder) {
  const names = readdirSync(join(ROOT, folder));
  return names.filter((name) => existsSync(join(ROOT, folder, name, 'section.ts'))).sort();
}

function helpText({ name, does, folder, page, sections }) {
  return `Usage: npm run ${name} [-- SECTION ... --only NAME --again]

${does} Writes ${page} and ${folder}/results. Without a section all of them run. What is done on this machine is skipped.

Sections, with those of their comparisons that have results:
${sections.map((section) => `  ${[section, ...comparisonsOf(folder, section)].join('\n    ')}`).join('\n')}

Options:
  --only NAME  the comparisons with this in their name
  --again      repeats what is done
  --help       prints this
`;
}

/** From the committed results, because the sections themselves need the npm modules. */
function comparisonsOf(folder, section) {
  const file = join(ROOT, folder, 'results', `${section}.json`);
  if (!existsSync(file)) return [];
  return JSON.parse(readFileSync(file, 'utf8')).comparisons.map(({ name, title }) => `${name}: ${title}`);
}

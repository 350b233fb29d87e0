/**
 * npm run test:chaos [-- part of a file name ...]: injects faults into real processes and writes docs/faults.md. Rows that are not
 * run keep their earlier results in test/chaos/results.json.
 */
import './node-version.mjs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT, runCommand } from './command.mjs';
import { say, signal, stopAndExit, stopOnSignals } from './lifecycle.mjs';
import { ensureBuilt, ensureModules } from './modules.mjs';
import { Problem } from './problem.mjs';
import { ensurePrograms } from './programs.mjs';

const VITEST = join(ROOT, 'node_modules/vitest/vitest.mjs');
const CONFIG = join(ROOT, 'test/chaos/vitest.config.ts');
const RESULTS = join(ROOT, 'test/chaos/results.json');
const PAGE = join(ROOT, 'docs/faults.md');

stopOnSignals();
main(process.argv.slice(2)).catch((error) =>
  stopAndExit(error instanceof Problem ? error.message : error.stack, 1),
);

async function main(filters) {
  await ensurePrograms({ say, signal });
  await ensureModules({ signal });
  // What ships is attacked.
  await ensureBuilt({ signal });
  const folder = await mkdtemp(join(tmpdir(), 'lehr-chaos-'));
  try {
    const args = [VITEST, 'run', '--config', CONFIG, ...filters];
    const code = await runCommand(process.execPath, args, { signal, env: { LEHR_CHAOS_RESULTS: folder } });
    await writePage(await resultsIn(folder));
    process.exitCode = code;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  process.exit();
}

async function resultsIn(folder) {
  const names = await readdir(folder);
  return Promise.all(names.map(async (name) => JSON.parse(await readFile(join(folder, name), 'utf8'))));
}

async function writePage(newResults) {
  await import('./typescript.mjs');
  const { faultsPage, sorted } = await import('../../test/chaos/faults-page.ts');
  const kept = JSON.parse(await readFile(RESULTS, 'utf8'));
  const rows = Object.fromEntries(newResults.map((result) => [result.row, result]));
  const all = Object.fromEntries(sorted({ ...kept, ...rows }).map((result) => [result.row, result]));
  await writeFile(RESULTS, `${JSON.stringify(all, null, 2)}\n`);
  await writeFile(PAGE, faultsPage(all));
  say(`${newResults.length} rows were run; ${PAGE} has the table.`);
}

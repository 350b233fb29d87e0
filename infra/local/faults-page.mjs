/** Writes docs/faults.md with the new results of the fault suite, or of a soak, among the earlier ones. */
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT } from './command.mjs';
import { say } from './lifecycle.mjs';

const RESULTS = join(ROOT, 'test/chaos/results.json');
const PAGE = join(ROOT, 'docs/faults.md');

/** `folder` has one file for each result. */
export async function writeFaultsPage(folder) {
  await import('./typescript.mjs');
  const { faultsPage, sorted } = await import('../../test/chaos/faults-page.ts');
  const kept = JSON.parse(await readFile(RESULTS, 'utf8'));
  const newResults = await resultsIn(folder);
  const rows = Object.fromEntries(newResults.map((result) => [result.row, result]));
  const all = Object.fromEntries(sorted({ ...kept, ...rows }).map((result) => [result.row, result]));
  await writeFile(RESULTS, `${JSON.stringify(all, null, 2)}\n`);
  await writeFile(PAGE, faultsPage(all));
  say(`${newResults.length} rows were run; ${PAGE} has the table.`);
}

async function resultsIn(folder) {
  const names = await readdir(folder);
  return Promise.all(names.map(async (name) => JSON.parse(await readFile(join(folder, name), 'utf8'))));
}

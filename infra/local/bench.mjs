/**
 * npm run bench [-- part of a file name ...]: runs test/bench/*.bench.ts one after the other and prints one table. Bench files that
 * have a table in the docs write it there with --write.
 */
import './node-version.mjs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT, runCommand } from './command.mjs';
import { say, signal, stopAndExit, stopOnSignals } from './lifecycle.mjs';
import { ensureBuilt, ensureModules } from './modules.mjs';
import { Problem } from './problem.mjs';
import { ensureServices } from './programs.mjs';

const FOLDER = join(ROOT, 'test/bench');
const FROM_SOURCE = ['--conditions=lehr-source', `--import=${join(ROOT, 'infra/local/typescript.mjs')}`];

stopOnSignals();
main(process.argv.slice(2)).catch((error) =>
  stopAndExit(error instanceof Problem ? error.message : error.stack, 1),
);

async function main(args) {
  const filters = args.filter((arg) => arg !== '--write');
  const flags = args.filter((arg) => arg === '--write');
  await ensureServices({ say, signal });
  await ensureModules({ signal });
  // The whole stack is measured as it ships.
  await ensureBuilt({ signal });
  const rows = [];
  const broken = [];
  for (const file of await benchFiles(filters)) {
    say(`--- ${file}`);
    const command = [...FROM_SOURCE, join(FOLDER, 'run.ts'), join(FOLDER, file), ...flags];
    const onMessage = (row) => {
      rows.push(row);
      say(
        `    ${row.name}: ${row.value.toPrecision(3)} (${row.min.toPrecision(3)} .. ${row.max.toPrecision(3)})`,
      );
    };
    const code = await runCommand(process.execPath, command, { signal, onMessage });
    signal.throwIfAborted();
    if (code !== 0) broken.push(file);
  }
  await import('./typescript.mjs');
  const { table } = await import('../../test/bench/harness.ts');
  console.log(`\n${table(rows)}\n`);
  if (broken.length > 0) throw new Problem(`These ended with an error: ${broken.join(', ')}.`);
  process.exit(0);
}

async function benchFiles(filters) {
  const files = (await readdir(FOLDER)).filter((name) => name.endsWith('.bench.ts')).sort();
  const chosen = files.filter((name) => filters.length === 0 || filters.some((part) => name.includes(part)));
  if (chosen.length > 0) return chosen;
  throw new Problem(`No bench file has this name. The files are: ${files.join(', ') || 'none yet'}.`);
}

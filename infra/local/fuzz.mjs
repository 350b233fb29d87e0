/**
 * npm run fuzz [-- --minutes 60 --seed 7]: attacks a separate Lehr with generated requests and prints what it found.
 * --replay <file> sends one printed batch again.
 */
import './node-version.mjs';
import { join } from 'node:path';
import { ROOT, runCommand } from './command.mjs';
import { say, signal, stopAndExit, stopOnSignals } from './lifecycle.mjs';
import { ensureBuilt, ensureModules } from './modules.mjs';
import { Problem } from './problem.mjs';
import { ensureServices } from './programs.mjs';

const FROM_SOURCE = ['--conditions=lehr-source', `--import=${join(ROOT, 'infra/local/typescript.mjs')}`];

stopOnSignals();
main(process.argv.slice(2)).catch((error) =>
  stopAndExit(error instanceof Problem ? error.message : error.stack, 1),
);

async function main(args) {
  await ensureServices({ say, signal });
  await ensureModules({ signal });
  // The built programs are tested, not the sources.
  await ensureBuilt({ signal });
  const file = join(ROOT, 'test/fuzz/run.ts');
  process.exit(await runCommand(process.execPath, [...FROM_SOURCE, file, ...args], { signal }));
}

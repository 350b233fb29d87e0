/**
 * npm run test:neighbours [-- part of the name of an attack ...]: measures a tenant beside another one that attacks.
 * --rounds 20 sets how often each operation is asked.
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
  // What ships is attacked.
  await ensureBuilt({ signal });
  const file = join(ROOT, 'test/neighbours/run.ts');
  process.exit(await runCommand(process.execPath, [...FROM_SOURCE, file, ...args], { signal }));
}

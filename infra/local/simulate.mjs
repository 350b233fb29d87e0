/** npm run simulate [-- --jobs 1000000 --workers 1000 --minutes 15 --write]: the queue under a simulated fleet. */
import './node-version.mjs';
import { join } from 'node:path';
import { ROOT, runCommand } from './command.mjs';
import { say, signal, stopAndExit, stopOnSignals } from './lifecycle.mjs';
import { ensureModules } from './modules.mjs';
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
  const file = join(ROOT, 'test/simulation/run.ts');
  process.exit(await runCommand(process.execPath, [...FROM_SOURCE, file, ...args], { signal }));
}

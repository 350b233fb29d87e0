/**
 * npm run simulate [-- --jobs 1000000 --workers 1000 --minutes 15 --write]: the queue under a simulated fleet. `-- scaling [--write]`:
 * the scaling of a fleet on simulated loads.
 */
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

async function main([part, ...rest]) {
  const isScaling = part === 'scaling';
  if (!isScaling) await ensureServices({ say, signal });
  await ensureModules({ signal });
  const file = join(ROOT, isScaling ? 'test/simulation/scaling/run.ts' : 'test/simulation/run.ts');
  const args = isScaling || part === undefined ? rest : [part, ...rest];
  process.exit(await runCommand(process.execPath, [...FROM_SOURCE, file, ...args], { signal }));
}

/** npm run device [-- cuda --only demo-steps,full-steps --out file]: compares a device with the CPU, and measures it. */
import './node-version.mjs';
import { join } from 'node:path';
import { ROOT, runCommand } from './command.mjs';
import { signal, stopAndExit, stopOnSignals } from './lifecycle.mjs';
import { ensureModules } from './modules.mjs';
import { Problem } from './problem.mjs';

const FROM_SOURCE = ['--conditions=lehr-source', `--import=${join(ROOT, 'infra/local/typescript.mjs')}`];

stopOnSignals();
main(process.argv.slice(2)).catch((error) =>
  stopAndExit(error instanceof Problem ? error.message : error.stack, 1),
);

async function main(args) {
  await ensureModules({ signal });
  const file = join(ROOT, 'test/device/run.ts');
  process.exit(await runCommand(process.execPath, [...FROM_SOURCE, file, ...args], { signal }));
}

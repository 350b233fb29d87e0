/** npm run real [-- whisper diffusion clients peers --only jfk --again]: compares Lehr with other programs, and writes docs/real-models.md. */
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
  // Sections that start whole processes measure what ships.
  if (args.length === 0 || args.some((arg) => !arg.startsWith('--'))) await ensureBuilt({ signal });
  const file = join(ROOT, 'test/real/run.ts');
  const code = await runCommand(process.execPath, [...FROM_SOURCE, file, ...args], { signal });
  if (code === 0) say('docs/real-models.md has the tables.');
  process.exit(code);
}

/** Runs a program that compares Lehr with others (npm run real, npm run peers), with what it needs. */
import './node-version.mjs';
import { join } from 'node:path';
import { ROOT, runCommand } from './command.mjs';
import { say, signal, stopAndExit, stopOnSignals } from './lifecycle.mjs';
import { ensureBuilt, ensureModules } from './modules.mjs';
import { Problem } from './problem.mjs';
import { ensureServices } from './programs.mjs';

const FROM_SOURCE = ['--conditions=lehr-source', `--import=${join(ROOT, 'infra/local/typescript.mjs')}`];

/** `program` and `page` are relative to the repository's root. Ends this process. */
export function runComparisons({ program, page }) {
  stopOnSignals();
  main(process.argv.slice(2), program, page).catch((error) =>
    stopAndExit(error instanceof Problem ? error.message : error.stack, 1),
  );
}

async function main(args, program, page) {
  await ensureServices({ say, signal });
  await ensureModules({ signal });
  // Sections that start whole processes measure what ships.
  if (args.length === 0 || args.some((arg) => !arg.startsWith('--'))) await ensureBuilt({ signal });
  const command = [...FROM_SOURCE, join(ROOT, program), ...args];
  const code = await runCommand(process.execPath, command, { signal });
  if (code === 0) say(`${page} has the tables.`);
  process.exit(code);
}

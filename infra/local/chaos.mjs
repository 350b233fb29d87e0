/**
 * npm run test:chaos [-- part of a file name ...]: injects faults into real processes and writes docs/faults.md. Rows that are not
 * run keep their earlier results in test/chaos/results.json.
 */
import './node-version.mjs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT, runCommand } from './command.mjs';
import { writeFaultsPage } from './faults-page.mjs';
import { say, signal, stopAndExit, stopOnSignals } from './lifecycle.mjs';
import { ensureBuilt, ensureModules } from './modules.mjs';
import { Problem } from './problem.mjs';
import { ensurePrograms } from './programs.mjs';

const VITEST = join(ROOT, 'node_modules/vitest/vitest.mjs');
const CONFIG = join(ROOT, 'test/chaos/vitest.config.ts');

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
    const code = await runCommand(process.execPath, args, { signal, env: { CHAOS_RESULTS: folder } });
    await writeFaultsPage(folder);
    process.exitCode = code;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  process.exit();
}

/**
 * npm run soak -- --minutes 30 --seed 5 [--write]: Lehr under load, with a random fault every 20 seconds. --write adds the result to
 * docs/faults.md.
 */
import './node-version.mjs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ROOT, runCommand } from './command.mjs';
import { writeFaultsPage } from './faults-page.mjs';
import { say, signal, stopAndExit, stopOnSignals } from './lifecycle.mjs';
import { ensureBuilt, ensureModules } from './modules.mjs';
import { Problem } from './problem.mjs';
import { ensurePrograms } from './programs.mjs';

const VITEST = join(ROOT, 'node_modules/vitest/vitest.mjs');
const CONFIG = join(ROOT, 'test/chaos/soak/vitest.config.ts');
const OPTIONS = {
  minutes: { type: 'string', default: '30' },
  seed: { type: 'string', default: '5' },
  write: { type: 'boolean', default: false },
};

stopOnSignals();
main(process.argv.slice(2)).catch((error) =>
  stopAndExit(error instanceof Problem ? error.message : error.stack, 1),
);

async function main(args) {
  const { values } = parseArgs({ args, options: OPTIONS });
  await ensurePrograms({ say, signal });
  await ensureModules({ signal });
  // What ships is attacked.
  await ensureBuilt({ signal });
  const folder = await mkdtemp(join(tmpdir(), 'lehr-soak-'));
  try {
    const env = {
      CHAOS_RESULTS: folder,
      SOAK_MINUTES: values.minutes,
      SOAK_SEED: values.seed,
    };
    process.exitCode = await runCommand(process.execPath, [VITEST, 'run', '--config', CONFIG], {
      signal,
      env,
    });
    if (values.write) await writeFaultsPage(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  process.exit();
}

/** The suites `chaos` and `soak`: files of this folder write a file for each row, and these are added to the results and to the page. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT, runCommand } from '../../infra/local/command.mjs';
import '../../infra/local/typescript.mjs';

const VITEST = join(ROOT, 'node_modules/vitest/vitest.mjs');

/** Resolves to the exit code. */
export const runRows = ({ names, ...parts }) => runFiles(['lab/chaos/vitest.config.ts', ...names], parts);

/** Resolves to the exit code. */
export function soak({ minutes, seed, write, ...parts }) {
  const env = { SOAK_MINUTES: minutes, SOAK_SEED: seed };
  return runFiles(['lab/chaos/soak/vitest.config.ts'], { ...parts, env, writes: write });
}

async function runFiles(config, { env, writes = true, say, signal }) {
  const folder = await mkdtemp(join(tmpdir(), 'lehr-chaos-'));
  try {
    const args = [VITEST, 'run', '--config', ...config];
    const code = await runCommand(process.execPath, args, { signal, env: { ...env, CHAOS_RESULTS: folder } });
    const { addRows } = await import('./faults-page.ts');
    if (writes) say(`${addRows(folder)} rows were run; lab/faults.md has the table.`);
    return code;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The suite `containers`: programs, engine and base images first, then the scenes in the engine's network, then the report. */
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, runCommand } from '../../infra/local/command.mjs';
import { Problem } from '../../infra/local/problem.mjs';
import { ENGINE_ENV, HOME, inside, removeNamespace, startEngine, stopEngine } from './engine.mjs';
import { ensurePrograms } from './programs.mjs';
import { makeStandIns } from './stand-ins.mjs';

const VITEST = join(ROOT, 'node_modules/vitest/vitest.mjs');
const CONFIG = join(ROOT, 'lab/containers/vitest.config.ts');

/** Resolves to the exit code: 0 when every scene showed what it promises. */
export async function run({ scenes, from, keep, write, say, signal }) {
  if (process.getuid?.() !== 0 || !existsSync('/etc/debian_version'))
    throw new Problem(
      'The suite containers needs Debian and root: it installs packages and makes a network namespace.',
    );
  const results = join(HOME, 'results');
  // Scenes that are run alone replace their rows of the run before.
  if (scenes.length === 0) rmSync(results, { recursive: true, force: true });
  mkdirSync(results, { recursive: true });
  await ensurePrograms({ say, signal });
  await startEngine();
  try {
    makeStandIns({ say });
    const [program, args] = inside(process.execPath, VITEST, 'run', '--config', CONFIG);
    const env = { ...ENGINE_ENV, LAB_RESULTS: results, LAB_SCENES: scenes.join(), LAB_FROM: from };
    const code = await runCommand(program, args, { signal, env });
    if (write) {
      await import('../../infra/local/typescript.mjs');
      const { writePage } = await import('./page.ts');
      writePage(results);
    }
    return code;
  } finally {
    if (!keep) {
      await stopEngine();
      removeNamespace();
    }
  }
}

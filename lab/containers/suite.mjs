/** The suite `containers`: programs, engine and base images first, then the scenes in the engine's network, then the report. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, runCommand } from '../../infra/local/command.mjs';
import { Problem } from '../../infra/local/problem.mjs';
import { ENGINE_ENV, HOME, inside, removeNamespace, startEngine, stopEngine } from './engine.mjs';
import { ensurePrograms } from './programs.mjs';
import { makeStandIns } from './stand-ins.mjs';

const VITEST = join(ROOT, 'node_modules/vitest/vitest.mjs');
const CONFIG = join(ROOT, 'lab/containers/vitest.config.ts');

/** Resolves to the exit code: 0 when every scene showed what it promises. */
export async function run({ names: scenes, from, keep, write, say, signal }) {
  takeTurn();
  if (process.getuid?.() !== 0 || !existsSync('/etc/debian_version'))
    throw new Problem(
      'The suite containers needs Debian and root: it installs packages and makes a network namespace.',
    );
  const results = prepareResults(scenes);
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

/** Two runs would share the engine, its containers and the results. */
function takeTurn() {
  const file = join(HOME, 'lab.pid');
  const other = existsSync(file) ? readFileSync(file, 'utf8') : '';
  if (other !== '' && existsSync(`/proc/${other}`))
    throw new Problem(`The suite containers runs already, as process ${other} (${file}).`);
  mkdirSync(HOME, { recursive: true });
  writeFileSync(file, String(process.pid));
}

/** The folder of results. Scenes that are run alone replace their rows of the run before, whose page then says so. */
function prepareResults(scenes) {
  const results = join(HOME, 'results');
  const file = join(results, 'run.json');
  if (scenes.length > 0) rmSync(file, { force: true });
  else rmSync(results, { recursive: true, force: true });
  mkdirSync(results, { recursive: true });
  if (scenes.length > 0) return results;
  const commit = execFileSync('git', ['rev-parse', '--short=12', 'HEAD'], { cwd: ROOT, encoding: 'utf8' });
  const isEmpty = !existsSync(join(HOME, 'docker'));
  writeFileSync(file, JSON.stringify({ commit: commit.trim(), isEmpty, began: Date.now() }));
  return results;
}

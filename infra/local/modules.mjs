/** Installs the npm modules and builds the packages, so that a fresh clone can import the rest. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT, runNpm } from './command.mjs';
import { Problem } from './problem.mjs';
import { withProgress } from './progress.mjs';

const LOCK = join(ROOT, 'package-lock.json');
/** The list that npm writes at the end of an installation; missing when none has finished. */
const INSTALLED = join(ROOT, 'node_modules', '.package-lock.json');
/** The lock file that `npm ci` last ran for. */
const STAMP = join(ROOT, 'node_modules', '.lehr-lock');

/** The arguments with which Node runs a TypeScript file of the repository from its source, against the sources of the packages. */
export const fromSource = (file, ...args) => [
  '--conditions=lehr-source',
  `--import=${join(ROOT, 'infra/local/typescript.mjs')}`,
  join(ROOT, file),
  ...args,
];

/** Runs `npm ci` unless node_modules already holds what package-lock.json asks for. */
export async function ensureModules({ signal }) {
  const [wanted, installed, stamp] = await Promise.all([LOCK, INSTALLED, STAMP].map(textOf));
  if (!wanted) throw new Problem('package-lock.json is missing; this is not a whole copy of Lehr.');
  if (installed && (stamp === wanted || isSatisfied(packagesOf(wanted), packagesOf(installed)))) return;
  const reason = installed ? 'package-lock.json has changed' : 'there are none yet';
  const quiet = ['--no-audit', '--no-fund', '--loglevel=error'];
  const code = await withProgress(`Installing modules (npm ci), because ${reason}`, () =>
    // NODE_ENV=production would leave out what the build needs.
    runNpm(['ci', '--include=dev', ...quiet], { signal, quiet: true }),
  );
  signal?.throwIfAborted();
  if (code !== 0) throw new Problem(`npm ci failed (exit code ${code}); its output is above.`);
  await writeFile(STAMP, wanted);
}

/** Builds what has changed; turbo's cache has the rest. */
export async function ensureBuilt({ signal }) {
  const code = await withProgress('Building', () =>
    runNpm(['run', 'build', '--silent'], { signal, quiet: true }),
  );
  signal?.throwIfAborted();
  if (code !== 0) throw new Problem(`The build failed (exit code ${code}); its output is above.`);
}

const textOf = (path) => readFile(path, 'utf8').catch(() => undefined);
const packagesOf = (lock) => JSON.parse(lock).packages;

/** An optional package, such as a binary for another platform, may be missing; if it is there, its version must match. */
function isSatisfied(wanted, installed) {
  return Object.entries(wanted).every(([path, { version, integrity, link, optional }]) => {
    if (!path.includes('node_modules/')) return true;
    const found = installed[path];
    if (!found) return optional === true;
    return link === true || (found.version === version && found.integrity === integrity);
  });
}

/** Brings a fresh clone to the point where the rest can be imported: npm modules, then the build. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT, runNpm } from './command.mjs';
import { Problem } from './problem.mjs';
import { withProgress } from './progress.mjs';

const LOCK = join(ROOT, 'package-lock.json');
/** What npm notes of an installation; missing where one never finished. */
const INSTALLED = join(ROOT, 'node_modules', '.package-lock.json');
/** The lock file that `npm ci` last ran for. */
const STAMP = join(ROOT, 'node_modules', '.lehr-lock');

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
  if (code !== 0) throw new Problem(`npm ci failed (exit code ${code}); its output stands above.`);
  await writeFile(STAMP, wanted);
}

/** Builds what has changed; what has not costs a look into turbo's cache. */
export async function ensureBuilt({ signal }) {
  const code = await withProgress('Building', () =>
    runNpm(['run', 'build', '--silent'], { signal, quiet: true }),
  );
  signal?.throwIfAborted();
  if (code !== 0) throw new Problem(`The build failed (exit code ${code}); its output stands above.`);
}

const textOf = (path) => readFile(path, 'utf8').catch(() => undefined);
const packagesOf = (lock) => JSON.parse(lock).packages;

/** Other platforms' binaries are optional and rightly missing, so an optional package may be absent but not different. */
function isSatisfied(wanted, installed) {
  return Object.entries(wanted).every(([path, { version, integrity, link, optional }]) => {
    if (!path.includes('node_modules/')) return true;
    const found = installed[path];
    if (!found) return optional === true;
    return link === true || (found.version === version && found.integrity === integrity);
  });
}

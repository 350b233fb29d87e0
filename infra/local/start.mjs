/** npm start: installs and builds what is missing, then runs Redis, the API and one worker until it is stopped. */
import './node-version.mjs';
import { signal, stopAndExit, stopOnSignals } from './lifecycle.mjs';
import { ensureBuilt, ensureModules } from './modules.mjs';
import { Problem } from './problem.mjs';

const startedAt = performance.now();
stopOnSignals();
main().catch((error) => stopAndExit(error instanceof Problem ? error.message : error.stack, 1));

async function main() {
  await ensureModules({ signal });
  await ensureBuilt({ signal });
  // Imported only here, because its own imports do not exist in a fresh clone before the build.
  const { launch } = await import('./launch.mjs');
  await launch(startedAt);
}

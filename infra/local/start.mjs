/**
 * npm start: installs and builds what is missing, then runs Redis, the API and one worker until it is stopped. With `-- --observe` also
 * a Prometheus.
 */
import './node-version.mjs';
import { parseArgs } from 'node:util';
import { signal, stopAndExit, stopOnSignals } from './lifecycle.mjs';
import { ensureBuilt, ensureModules } from './modules.mjs';
import { Problem } from './problem.mjs';

const startedAt = performance.now();
stopOnSignals();
main().catch((error) => stopAndExit(error instanceof Problem ? error.message : error.stack, 1));

async function main() {
  const { observe } = options();
  await ensureModules({ signal });
  await ensureBuilt({ signal });
  // Imported only here, because its own imports do not exist in a fresh clone before the build.
  const { launch } = await import('./launch.mjs');
  await launch(startedAt, { observe });
}

function options() {
  try {
    return parseArgs({ options: { observe: { type: 'boolean', default: false } } }).values;
  } catch (error) {
    throw new Problem(`${error.message}\nnpm start takes one option: npm start -- --observe`);
  }
}

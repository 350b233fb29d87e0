/**
 * npm start: installs and builds what is missing, then runs Redis, the API and one worker until it is stopped. With `-- --observe` also
 * a Prometheus; with `-- --workers 3` so many workers, with `0` none, and with `-- --workers auto` as many as there should be.
 */
import './node-version.mjs';
import { parseArgs } from 'node:util';
import { runMain, signal } from './lifecycle.mjs';
import { ensureBuilt, ensureModules } from './modules.mjs';
import { Problem } from './problem.mjs';

const startedAt = performance.now();
runMain(main);

async function main() {
  const { observe, workers } = options();
  await ensureModules({ signal });
  await ensureBuilt({ signal });
  // Imported only here, because its own imports do not exist in a fresh clone before the build.
  const { launch } = await import('./launch.mjs');
  await launch(startedAt, { observe, workers });
}

function options() {
  try {
    const { observe, workers } = parseArgs({
      options: { observe: { type: 'boolean', default: false }, workers: { type: 'string' } },
    }).values;
    if (workers === undefined || workers === 'auto' || /^(0|[1-9]\d{0,2})$/.test(workers)) {
      return { observe, workers: workers === undefined || workers === 'auto' ? workers : Number(workers) };
    }
    throw new Error(`--workers is ${JSON.stringify(workers)}, expected auto or a number such as 3.`);
  } catch (error) {
    throw new Problem(`${error.message}\nnpm start takes: npm start -- --observe --workers auto`);
  }
}

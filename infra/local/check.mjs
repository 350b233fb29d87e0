/** npm run check: lint, types, unused code and unit tests at once. It builds nothing and starts no server. */
import './node-version.mjs';
import { signal, stopAndExit, stopOnSignals } from './lifecycle.mjs';
import { ensureModules } from './modules.mjs';
import { Problem } from './problem.mjs';
import { npmStage, runStages } from './stages.mjs';

stopOnSignals();
main().catch((error) => stopAndExit(error instanceof Problem ? error.message : error.stack, 1));

async function main() {
  await ensureModules({ signal });
  await runStages([
    [
      npmStage('lint'),
      npmStage('typecheck', 'types'),
      npmStage('unused'),
      npmStage('test:unit', 'unit tests'),
    ],
  ]);
}

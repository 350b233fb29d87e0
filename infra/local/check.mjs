/** npm run check: lint, types, unused code and unit tests at once. It builds nothing and starts no server. */
import './node-version.mjs';
import { runMain, signal } from './lifecycle.mjs';
import { ensureModules } from './modules.mjs';
import { npmStage, runStages } from './stages.mjs';

runMain(async () => {
  await ensureModules({ signal });
  await runStages([
    [
      npmStage('lint'),
      npmStage('typecheck', 'types'),
      npmStage('unused'),
      npmStage('test:unit', 'unit tests'),
    ],
  ]);
});

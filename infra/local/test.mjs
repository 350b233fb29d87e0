/**
 * npm test: installs what the tests need, then runs lint, types, unused code, build and the tests, and stops where something fails. The
 * tests that take long run with npm test -- --all. With other arguments (npm test -- lane) it builds and runs the test files whose path
 * contains one of them. A few files that fail are run a second time, alone.
 */
import './node-version.mjs';
import { cpus } from 'node:os';
import { delimiter, dirname } from 'node:path';
import { runMain, say, signal } from './lifecycle.mjs';
import { ensureModules } from './modules.mjs';
import { ensurePrograms } from './programs.mjs';
import { runTests } from './run-tests.mjs';
import { npmStage, runStages } from './stages.mjs';

const build = npmStage('build');
const CHECKS = [npmStage('lint'), npmStage('typecheck', 'types'), npmStage('unused'), build];

// npm scripts and tests start node by name, and it must be this one.
process.env.PATH = `${dirname(process.execPath)}${delimiter}${process.env.PATH}`;

runMain(async (args) => {
  const filters = args.filter((each) => each !== '--all');
  const all = filters.length < args.length;
  const [{ model }] = cpus();
  say(
    `Node ${process.versions.node}, ${process.platform} ${process.arch}, ${cpus().length} cores (${model.trim()}).`,
  );
  await ensurePrograms({ say, signal });
  await ensureModules({ signal });
  const first = filters.length > 0 ? [build] : CHECKS;
  await runStages([first, [{ name: 'tests', run: () => runTests(filters, { all }) }]]);
});

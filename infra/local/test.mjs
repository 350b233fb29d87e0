/**
 * npm test: installs what the tests need, then runs one stage after the other and stops at the first that fails. With
 * arguments (npm test -- lane), only the build and the tests that vitest finds with them.
 */
import './node-version.mjs';
import { cpus } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { ROOT, runCommand, runNpm } from './command.mjs';
import { leave, say, signal, watchForTheEnd } from './lifecycle.mjs';
import { ensureModules } from './modules.mjs';
import { Problem } from './problem.mjs';
import { ensurePrograms } from './programs.mjs';

const VITEST = join(ROOT, 'node_modules/vitest/vitest.mjs');

const filters = process.argv.slice(2);

const npmRun = (script) => ({ name: script, run: () => runNpm(['run', script, '--silent'], { signal }) });
const vitest = (args) => ({
  name: 'tests',
  run: () => runCommand(process.execPath, [VITEST, 'run', ...args], { signal }),
});

const STAGES =
  filters.length > 0
    ? [npmRun('build'), vitest(filters)]
    : [
        npmRun('lint'),
        npmRun('typecheck'),
        npmRun('build'),
        // Units and wholes at once: while one waits, another computes.
        vitest([]),
      ];

// npm scripts and tests start node by name, and it must be this one.
process.env.PATH = `${dirname(process.execPath)}${delimiter}${process.env.PATH}`;

watchForTheEnd();
main().catch((error) => leave(error instanceof Problem ? error.message : error.stack, 1));

async function main() {
  const [{ model }] = cpus();
  say(
    `Node ${process.versions.node}, ${process.platform} ${process.arch}, ${cpus().length} cores (${model.trim()}).`,
  );
  await ensurePrograms({ say, signal });
  await ensureModules({ say, signal });
  const results = [];
  for (const { name, run } of STAGES) {
    say(`\n--- ${name}`);
    const startedAt = performance.now();
    const code = await run();
    signal.throwIfAborted();
    results.push({ name, code, seconds: (performance.now() - startedAt) / 1000 });
    if (code !== 0) break;
  }
  say(table(results));
  process.exit(results.some(({ code }) => code !== 0) ? 1 : 0);
}

function table(results) {
  const lines = STAGES.map(({ name }) => {
    const result = results.find((each) => each.name === name);
    const verdict = result ? (result.code === 0 ? 'passed' : 'FAILED') : 'not run';
    const seconds = result ? `${result.seconds.toFixed(1)} s` : '';
    return `  ${name.padEnd(14)}${verdict.padEnd(9)}${seconds.padStart(8)}`;
  });
  const total = results.reduce((sum, { seconds }) => sum + seconds, 0);
  return `\n${lines.join('\n')}\n  ${''.padEnd(23)}${`${total.toFixed(1)} s`.padStart(8)}`;
}

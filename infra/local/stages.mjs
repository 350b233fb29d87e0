/** Runs the stages of npm test and npm run check and shows how each one ended. */
import { runNpm } from './command.mjs';
import { say, signal } from './lifecycle.mjs';

/** A stage that runs one script of package.json. */
export const npmStage = (script, name = script) => ({
  name,
  run: ({ quiet }) => runNpm(['run', script, '--silent'], { signal, quiet }),
});

/**
 * Runs one group of stages after the other and ends the process. The stages of one group run in parallel, and only the output
 * of failed ones is shown. After a group with a failed stage no further group runs.
 */
export async function runStages(groups) {
  const results = new Map();
  for (const group of groups) {
    say(`\n--- ${group.map(({ name }) => name).join(', ')}`);
    const codes = await Promise.all(group.map((stage) => timed(stage, group.length > 1, results)));
    signal.throwIfAborted();
    if (codes.some((code) => code !== 0)) break;
  }
  const stages = groups.flat();
  say(`\n${stages.map((stage) => line(stage.name, results.get(stage))).join('\n')}`);
  say(`  ${'total'.padEnd(23)}${seconds(performance.now()).padStart(8)}`);
  process.exit(stages.every((stage) => results.get(stage)?.code === 0) ? 0 : 1);
}

async function timed(stage, quiet, results) {
  const startedAt = performance.now();
  const code = await stage.run({ quiet });
  results.set(stage, { code, tookMs: performance.now() - startedAt });
  return code;
}

function line(name, result) {
  const verdict = result ? (result.code === 0 ? 'passed' : 'FAILED') : 'not run';
  return `  ${name.padEnd(14)}${verdict.padEnd(9)}${(result ? seconds(result.tookMs) : '').padStart(8)}`;
}

const seconds = (ms) => `${(ms / 1000).toFixed(1)} s`;

/**
 * Reports the slowest files and the skipped tests at the end of a long test run. Writes the list of the files that failed, as
 * JSON, to the path in FAILED_TEST_FILES, for the second run of npm test.
 */
import { writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { Reporter, TestCase, TestModule, Vitest } from 'vitest/node';

/** How many files are listed; a run of no more files than this gets no report. */
const SLOWEST = 10;

export class TestReport implements Reporter {
  #vitest: Vitest | undefined;

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const vitest = this.#vitest;
    if (!vitest) return;
    const nameOf = ({ moduleId }: TestModule): string => relative(vitest.config.root, moduleId);
    const failed = modules.filter((module) => module.state() === 'failed').map(nameOf);
    const list = process.env.FAILED_TEST_FILES;
    // After an error outside of tests, a second run of some files would prove nothing.
    if (list && errors.length === 0) writeFileSync(list, JSON.stringify(failed));
    if (modules.length <= SLOWEST) return;
    const slowest = modules
      .map((module) => ({ name: nameOf(module), seconds: secondsOf(module) }))
      .sort((a, b) => b.seconds - a.seconds)
      .slice(0, SLOWEST)
      .map(({ name, seconds }) => `  ${seconds.toFixed(1).padStart(6)} s  ${name}`);
    vitest.logger.log(`\nThe ${SLOWEST} slowest test files:\n${slowest.join('\n')}`);

    // With a name pattern most tests are skipped on purpose.
    if (vitest.config.testNamePattern) return;
    const isLong = ({ tags }: TestCase): boolean => !!vitest.config.tagsFilter && tags.includes('long');
    const notRun = modules.flatMap((module) =>
      [...module.children.allTests('skipped')].map((test) => ({ test, file: nameOf(module) })),
    );
    const long = notRun.filter(({ test }) => isLong(test));
    if (long.length > 0)
      vitest.logger.log(`\n${long.length} long tests were left out: npm test -- --all runs them.`);
    // Listed by name, because they have not passed.
    const skipped = notRun.filter(({ test }) => !isLong(test));
    const lines = skipped.map(({ test, file }) => `\n  ${file}: ${test.fullName}`);
    if (lines.length > 0) vitest.logger.log(`\nSkipped tests:${lines.join('')}`);
  }
}

/** The time of imports, hooks and tests. */
function secondsOf(module: TestModule): number {
  const { collectDuration, duration } = module.diagnostic();
  return (collectDuration + duration) / 1000;
}
